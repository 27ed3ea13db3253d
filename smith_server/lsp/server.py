"""The language server: registers what it answers, and ends cleanly on every way out.

`initialize` is answered before the runtime is imported; commands wait for it.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from smith_server import __version__
from smith_server.core.errors import AgentFailure, normalize
from smith_server.lsp import protocol
from smith_server.lsp.client import Client, from_initialize
from smith_server.lsp.documents import Documents
from smith_server.lsp.frames import BadFrameError, FrameReader
from smith_server.lsp.link import Link
from smith_server.lsp.pipe import OutPipe, read_pipe
from smith_server.lsp.roots import Roots, folders_of
from smith_server.lsp.wire import Arrival, Command, Wire, plain_converter
from smith_server.workspace.lsp_text import Counting

log = logging.getLogger(__name__)

PARENT_SECONDS = 1.0
CLOSE_SECONDS = 4.0
FEATURES: dict[str, Any] = {
    types.TEXT_DOCUMENT_COMPLETION: types.CompletionOptions(trigger_characters=["/", "@", "$"]),
    types.TEXT_DOCUMENT_CODE_LENS: types.CodeLensOptions(),
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(
        code_action_kinds=[types.CodeActionKind.QuickFix, types.CodeActionKind.Refactor]
    ),
}
"""What any client may ask for, and what it is told of that."""


class Commands(Protocol):
    """What the runtime brings: the commands, the notifications and standard requests it takes, an orderly end."""

    table: dict[str, Command]
    notifications: dict[str, Callable[[dict[str, Any]], None]]
    features: dict[str, Callable[[Any], Awaitable[Any]]]

    async def close(self) -> None: ...


class Connection:
    """What is known of the client once `initialize` came, for whoever builds the commands."""

    def __init__(self, wire: Wire, client: Client, roots: Roots, options: dict[str, Any], out: OutPipe) -> None:
        self.link = Link(wire, client)
        self.documents = wire.documents
        self.roots = roots
        self.options = options
        self.out = out


Load = Callable[[Connection], Awaitable[Commands]]


class Quiet(LanguageServer):
    """Trouble with one message goes to the log, without its contents, and not to a window of the editor."""

    def report_server_error(self, error: Exception, source: Any) -> None:
        log.warning("%s: %s", getattr(source, "__name__", source), type(error).__name__)


class Server:
    """One connection over two descriptors, from the first byte to the exit code."""

    def __init__(self, inward: int, outward: int, load: Load) -> None:
        self._inward = inward
        self._load = load
        self._stop: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._commands: asyncio.Future[Commands] = asyncio.get_running_loop().create_future()
        self._loading: asyncio.Task[None] | None = None
        self._shut_down = False
        self._is_lost = False
        self._is_closed = False
        self._frames = FrameReader()
        loop = asyncio.get_running_loop()
        self._out = OutPipe(outward, partial(loop.call_soon_threadsafe, self._end, 1))
        self._pygls = Quiet("smith", __version__, protocol_cls=Wire, converter_factory=plain_converter)
        self._wire: Wire = self._pygls.protocol  # type: ignore[assignment]
        self._wire.documents = Documents()
        self._wire.raw_writer = self._out.write
        self._wire.commands = {name: self._when_ready(name) for name in protocol.COMMANDS}
        self._register()

    async def run(self) -> int:
        """Serve until the client is gone; the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._end, 128 + number)
        read_pipe(self._inward, loop, self._take)
        self._watch_parent(os.getppid())
        code = await self._stop
        await self._close()
        self._out.close()
        return code or int(self._is_lost)

    def _take(self, data: bytes) -> None:
        if not data:
            self._end(0 if self._shut_down else 1)
            return
        try:
            for body in self._frames.feed(data):
                self._wire.receive(body)
        except BadFrameError:
            self._end(1)

    def _end(self, code: int) -> None:
        if not self._stop.done():
            self._stop.set_result(code)

    def _watch_parent(self, parent: int) -> None:
        """The process that started this one may die while somebody else holds its end of the pipe."""
        if os.getppid() != parent:
            self._end(1)
        elif not self._stop.done():
            asyncio.get_running_loop().call_later(PARENT_SECONDS, self._watch_parent, parent)

    async def _close(self) -> None:
        """Cancel, store, end the children; bounded, whatever hangs."""
        if self._loading is None or self._is_closed:
            return
        self._is_closed = True
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._loading
                if (commands := self._loaded()) is not None:
                    await commands.close()
        except TimeoutError:
            self._lose("The end took too long: what was said last may not be stored. Is the store locked?")
        except AgentFailure as problem:
            self._lose(problem.error.message)

    def _lose(self, text: str) -> None:
        self._is_lost = True
        log.error("%s", text)
        self._pygls.window_show_message(types.ShowMessageParams(type=types.MessageType.Error, message=text))

    def _loaded(self) -> Commands | None:
        is_there = self._commands.done() and self._commands.exception() is None
        return self._commands.result() if is_there else None

    async def _ready(self) -> Commands:
        """The commands, when they are there; what failed for a reason that may pass is tried once more."""
        problem = self._commands.exception() if self._commands.done() else None
        if isinstance(problem, AgentFailure) and problem.error.retryable:
            self._commands = asyncio.get_running_loop().create_future()
            self._loading = asyncio.create_task(self._bring_up(), name="load")
        return await asyncio.shield(self._commands)

    def _when_ready(self, name: str) -> Command:
        async def run(argument: dict[str, Any], arrival: Arrival) -> Any:
            commands = await self._ready()
            return await commands.table[name](argument, arrival)

        return run

    def _notified(self, name: str) -> Callable[[Any], None]:
        def take(params: Any) -> None:
            commands = self._loaded()
            if commands is not None and isinstance(params, dict):
                commands.notifications[name](params)

        return take

    def _asked(self, name: str) -> Callable[[Any], Awaitable[Any]]:
        async def answer(params: Any) -> Any:
            commands = await self._ready()
            return await commands.features[name](params)

        return answer

    def _register(self) -> None:
        handlers: dict[str, Callable[..., Any]] = {
            types.INITIALIZE: self._initialize,
            types.INITIALIZED: self._initialized,
            types.SHUTDOWN: self._shutdown,
            types.EXIT: self._exit,
            types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: self._folders_changed,
            protocol.EDIT_DONE: self._notified(protocol.EDIT_DONE),
            protocol.CHANGE_STATE: self._notified(protocol.CHANGE_STATE),
        }
        for name, handler in handlers.items():
            # pygls writes on what it is given, which bound methods do not allow.
            self._pygls.feature(name)(partial(handler))
        for name, options in FEATURES.items():
            self._pygls.feature(name, options)(self._asked(name))

    def _initialize(self, params: types.InitializeParams) -> None:
        client = from_initialize(params)
        self._wire.documents.counting = Counting(client.encoding, "lf" if client.plugin else "lsp")
        options = params.initialization_options
        self._connection = Connection(
            self._wire,
            client,
            Roots(folders_of(params), Path.cwd()),
            options if isinstance(options, dict) else {},
            self._out,
        )

    def _initialized(self, params: types.InitializedParams) -> None:
        if self._loading is not None:
            return
        client = self._connection.link.client
        if client.too_old:
            text = f"The smith plugin is too old for this server (protocol {protocol.VERSION}): update the plugin."
            self._pygls.window_show_message(types.ShowMessageParams(type=types.MessageType.Error, message=text))
        self._loading = asyncio.create_task(self._bring_up(), name="load")

    async def _bring_up(self) -> None:
        try:
            self._commands.set_result(await self._load(self._connection))
        except AgentFailure as problem:
            self._commands.set_exception(problem)
        except Exception as problem:
            log.exception("the runtime could not be brought up")
            self._commands.set_exception(AgentFailure(normalize(problem)))

    async def _shutdown(self, *_: Any) -> None:
        self._shut_down = True
        await self._close()

    def _exit(self, shut_down: bool) -> None:
        self._end(0 if shut_down else 1)

    def _folders_changed(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        self._connection.roots.changed(params)
