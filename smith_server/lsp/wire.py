"""pygls underneath our own protocol: plain dictionaries for our methods, one writer, honest errors.

What pygls does that would hurt here is replaced: objects made out of nested dictionaries, commands
that run on after they were cancelled, tracebacks sent to the client, bodies in the log.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any

import msgspec
from cattrs import Converter
from lsprotocol import types
from msgspec import Struct
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage

from smith_server.core.errors import AgentError, AgentFailure, normalize, public
from smith_server.lsp import protocol
from smith_server.lsp.bodies import OF_DOCUMENTS, encode, parse
from smith_server.lsp.documents import Documents, Snapshot
from smith_server.lsp.frames import frame
from smith_server.lsp.lifecycle import INVALID_REQUEST, Lifecycle, Refusal, is_id

log = logging.getLogger(__name__)

INVALID_PARAMS = -32602
CANCELLED = -32800
"""LSP's RequestCancelled."""
FAILED = -32803
"""LSP's RequestFailed: the request was right, its work failed."""

Command = Callable[[dict[str, Any], "Arrival"], Awaitable[Any]]

_PLAIN = frozenset(
    {
        *OF_DOCUMENTS,
        types.CANCEL_REQUEST,
        types.WINDOW_WORK_DONE_PROGRESS_CANCEL,
    }
)


class Arrival(Struct, frozen=True):
    """A command as it came in: the documents as they were then, and the token for its progress.

    `on_cancel` takes what a cancel of this request should do instead of ending its task.
    """

    documents: Snapshot
    progress_token: str | int | None
    on_cancel: Callable[[Callable[[], None]], None]


class Wire(LanguageServerProtocol):
    """One connection. `commands` and `documents` are set by the server before the first message."""

    commands: dict[str, Command]
    documents: Documents
    raw_writer: Callable[[bytes], None]

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self._lifecycle = Lifecycle()
        self._cancels: dict[Any, Callable[[], None]] = {}
        self._tokens: dict[Any, Any] = {}

    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        return None if method in _PLAIN else super().get_message_type(method)

    def receive(self, body: bytes) -> None:
        """Take in one message body. What cannot be understood is answered where it has an id.

        It may have been a change of a document, so that the texts held here are in doubt then.
        """
        try:
            data = parse(body)
        except (ValueError, RecursionError):
            self.documents.distrust_all()
            self._send_error(None, -32700, "not a JSON message")
            return
        if (refusal := self._lifecycle.refusal(data)) is not None:
            self._refuse(data, refusal)
            return
        match data.get("method"), "id" in data:
            case types.WORKSPACE_EXECUTE_COMMAND, True:
                params = data.get("params")
                self._start_command(data["id"], params if isinstance(params, dict) else {})
            case protocol.FLUSHED, False:
                # That it came, behind the changes that it follows, is all it says.
                pass
            case _:
                self._hand_on(data)

    def _hand_on(self, data: dict[str, Any]) -> None:
        """Give a message to pygls."""
        try:
            message = self.structure_message(data)
        except JsonRpcException as problem:
            self._misfit(data, problem)
        else:
            self.handle_message(message)

    def _handle_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        """An answer to a question that was withdrawn meanwhile is passed over, and one to what the client asked."""
        asked = self._request_futures.get(msg_id)
        if isinstance(asked, asyncio.Task):
            log.warning("the client answers its own request %r", msg_id)
        elif asked is not None and asked.done():
            self._request_futures.pop(msg_id)
        else:
            super()._handle_response(msg_id, result, error)

    def _refuse(self, data: Any, refusal: Refusal) -> None:
        """Answer a message that is not taken; what is well formed and wants no answer gets none."""
        if not isinstance(data, dict) or data.get("method") in OF_DOCUMENTS:
            self.documents.distrust_all()
        name = data.get("id") if isinstance(data, dict) else None
        is_notification = isinstance(data, dict) and "method" in data and "id" not in data
        if not is_notification:
            self._send_error(name if is_id(name) else None, refusal.code, refusal.message)

    def _misfit(self, data: dict[str, Any], problem: JsonRpcException) -> None:
        """A message whose parts do not fit. An answer of the client that does not is one that failed."""
        log.warning("a message of the client does not fit: %s", data.get("method", "an answer"))
        if "id" not in data:
            return
        if "method" in data:
            self._send_error(data["id"], problem.code, problem.message)
        else:
            self._handle_response(data["id"], error=problem.to_response_error())

    def _handle_notification(self, method_name: str, params: Any) -> None:
        plain = params if isinstance(params, dict) else {}
        if method_name == types.CANCEL_REQUEST:
            self._cancel(plain.get("id"))
        elif method_name == types.WINDOW_WORK_DONE_PROGRESS_CANCEL:
            token = plain.get("token")
            self._cancel(self._tokens.get(token) if is_id(token) else None)
        else:
            super()._handle_notification(method_name, params)

    def _cancel(self, msg_id: Any) -> None:
        if not is_id(msg_id):
            return
        if (action := self._cancels.get(msg_id)) is not None:
            action()
        elif msg_id in self._request_futures:
            self._handle_cancel_notification(msg_id)

    def _start_command(self, msg_id: Any, params: dict[str, Any]) -> None:
        command = self.commands.get(str(params.get("command")))
        if command is None:
            self._send_error(msg_id, INVALID_PARAMS, f"there is no command {params.get('command')!r}")
            return
        arguments = params.get("arguments") or [{}]
        if not isinstance(arguments, list) or len(arguments) != 1 or not isinstance(arguments[0], dict):
            self._send_error(msg_id, INVALID_PARAMS, "a command takes one JSON object")
            return
        if msg_id in self._cancels:
            self._send_error(msg_id, INVALID_REQUEST, f"the id {msg_id!r} is in use")
            return
        token = params.get("workDoneToken")
        token = token if is_id(token) else None
        arrival = Arrival(self.documents.snapshot(), token, lambda action: self._cancels.update({msg_id: action}))
        task = asyncio.ensure_future(self._run_command(msg_id, command, arguments[0], arrival))
        self._cancels[msg_id] = partial(_cancel_task, task)
        if token is not None:
            self._tokens[token] = msg_id
        task.add_done_callback(lambda task: self._finished(msg_id, token, task))

    def _finished(self, msg_id: Any, token: Any, task: "asyncio.Task[None]") -> None:
        """Answers for a cancelled task: one that never took its first step cannot do that itself."""
        self._cancels.pop(msg_id, None)
        self._tokens.pop(token, None)
        if task.cancelled():
            self._send_error(msg_id, CANCELLED, "cancelled")

    async def _run_command(self, msg_id: Any, command: Command, argument: dict[str, Any], arrival: Arrival) -> None:
        try:
            result = await command(argument, arrival)
        except AgentFailure as problem:
            code = INVALID_PARAMS if problem.error.code == "invalid_arguments" else FAILED
            self._send_error(msg_id, code, problem.error.message, problem.error)
        except Exception as problem:
            log.exception("a command failed")
            error = normalize(problem)
            self._send_error(msg_id, -32603, error.message, error)
        else:
            self._send({"jsonrpc": "2.0", "id": msg_id, "result": result})

    def _send_response(self, msg_id: Any, result: Any = None, error: types.ResponseError | None = None) -> None:
        if error is None:
            super()._send_response(msg_id, result)
        else:
            # What pygls puts into `data` is a stack trace.
            self._send_error(msg_id, error.code, error.message)

    def _send_error(self, msg_id: Any, code: int, message: str, error: AgentError | None = None) -> None:
        body: dict[str, Any] = {"code": code, "message": message}
        if error is not None:
            body["data"] = msgspec.to_builtins(public(error))
        self._send({"jsonrpc": "2.0", "id": msg_id, "error": body})

    def notify_plain(self, method: str, params: Any) -> int:
        """Send a notification of ours; the size of its frame in bytes."""
        return self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def _send_data(self, data: Any) -> None:
        if isinstance(data, JsonRPCNotification | JsonRPCRequestMessage | JsonRPCResponseMessage):
            fields = {field.name: getattr(data, field.name) for field in data.__attrs_attrs__}
            self._send({name: self._in_wire_spelling(value) for name, value in fields.items()})
        elif data:
            self._send(self._converter.unstructure(data))

    def _in_wire_spelling(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._in_wire_spelling(item) for item in value]
        return self._converter.unstructure(value) if hasattr(value, "__attrs_attrs__") else value

    def _send(self, message: dict[str, Any]) -> int:
        data = frame(encode(message))
        self.raw_writer(data)
        return len(data)

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: Any) -> None:
        self.documents.did_open(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: Any) -> None:
        self.documents.did_change(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: Any) -> None:
        self.documents.did_close(params)

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """The standard answer and our own capability."""
        result = yield from super().lsp_initialize(params)
        self._lifecycle.begin()
        own = {"protocol": protocol.VERSION, "version": self._server.version}
        result.capabilities.experimental = {"smith": own}
        result.capabilities.execute_command_provider = types.ExecuteCommandOptions(commands=list(self.commands))
        return result

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> Generator[Any, Any, None]:
        """Leaves the end of the process to the server's own `exit` handler."""
        yield self.fm.features[types.EXIT], (self._shutdown,), None


def _cancel_task(task: "asyncio.Task[None]") -> None:
    task.cancel()


def plain_converter() -> Converter:
    """pygls' converter, but messages of ours keep their params and results as plain dictionaries."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    for kind in (JsonRPCRequestMessage, JsonRPCNotification, JsonRPCResponseMessage):
        converter.register_structure_hook(kind, _plain_fields)
    return converter


def _plain_fields(data: dict[str, Any], kind: type[Any]) -> Any:
    return kind(**{field.name: data.get(field.name) for field in kind.__attrs_attrs__})
