"""The server's side of the wire in the hands of a test."""

import itertools
import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Literal, TypeVar

from tests.nvim.documents import Document
from tests.nvim.fake_server import CAPABILITIES

Message = dict[str, Any]
Answer = Callable[[dict[str, Any]], Any]

T = TypeVar("T")

PATIENCE = 10.0


def until(found: Callable[[], T | Literal[False] | None], about: object = "") -> T:
    """Polls until `found` gives something true, and gives that back; `about` is told when it does not."""
    deadline = time.monotonic() + PATIENCE
    while not (value := found()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE} s in vain {about}; last seen: {value!r}")
        time.sleep(0.005)
    return value


class TestServer:
    """Takes what the editor sends, keeps the documents, sends what the test says."""

    __test__ = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.received: list[Message] = []
        self.documents: dict[str, Document] = {}
        self.answers: dict[str, Answer] = {}
        self.capabilities: dict[str, Any] = json.loads(json.dumps(CAPABILITIES))
        self._ids = itertools.count(1)
        self._changes = itertools.count(1)
        self._seq = 0
        self._open: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        self._wire: queue.Queue[socket.socket] = queue.Queue()
        self._current: socket.socket | None = None
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        if self._current:
            self._current.close()

    def _accept(self) -> None:
        while True:
            try:
                wire, _ = self._listener.accept()
            except OSError:
                return
            self._current, self._seq = wire, 0
            self.documents.clear()
            threading.Thread(target=self._read, args=(wire,), daemon=True).start()

    def _read(self, wire: socket.socket) -> None:
        try:
            for line in wire.makefile("rb"):
                self._take(json.loads(line))
        except OSError:
            return

    def _take(self, message: Message) -> None:
        if "method" not in message:
            self._open.pop(message["id"]).set_result(message.get("result", message.get("error")))
            return
        self._sync(message)
        self.received.append(message)
        if "id" in message:
            self._reply(message)

    def _sync(self, message: Message) -> None:
        params = message.get("params") or {}
        document = params.get("textDocument", {}) if isinstance(params, dict) else {}
        match message["method"]:
            case "textDocument/didOpen":
                known = self.documents.get(document["uri"])
                opened = known.opened + 1 if known else 1
                encoding = self.capabilities["positionEncoding"]
                uri, text, version = document["uri"], document["text"], document["version"]
                self.documents[uri] = Document(uri, text, version, opened, encoding)
            case "textDocument/didChange":
                self.documents[document["uri"]].change(params)
            case "textDocument/didClose":
                self.documents.pop(document["uri"], None)

    def _reply(self, message: Message) -> None:
        if message["method"] == "initialize":
            self.send({"id": message["id"], "result": {"capabilities": self.capabilities}})
        elif message["method"] == "workspace/executeCommand":
            params = message["params"]
            answer = self.answers.get(params["command"])
            if answer:
                result = answer(params["arguments"][0])
                if result is not None:
                    self.send({"id": message["id"], "result": result})
        else:
            self.send({"id": message["id"], "result": None})

    def send(self, message: Message) -> None:
        with self._lock:
            assert self._current is not None, "no editor is connected"
            self._current.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> Future[Any]:
        """Sends a request; the future holds what the editor answers."""
        number = next(self._ids)
        answer: Future[Any] = Future()
        self._open[number] = answer
        self.send({"id": number, "method": method, "params": params})
        return answer

    def request(self, method: str, params: Any) -> Any:
        return self.ask(method, params).result(PATIENCE)

    def event(self, kind: str, **fields: Any) -> None:
        """Sends the next event of turn t1 of conversation c1."""
        self._seq += 1
        params = {"seq": self._seq, "conversation": "c1", "turn": "t1", "kind": kind, **fields}
        self.notify("smith/event", params)

    def skip(self, count: int) -> None:
        """Events that never arrive."""
        self._seq += count

    def document(self, path: Path | str) -> Document:
        uri = Path(path).as_uri()
        return until(lambda: self.documents.get(uri))

    def change(
        self, document: Document, edits: Sequence[dict[str, Any]], deadline_ms: int = 30_000, **other: Any
    ) -> dict[str, Any]:
        """The parameters of a guarded edit of `document` as the server has it."""
        return {
            "change": f"change-{next(self._changes)}",
            "uri": document.uri,
            "version": document.version,
            "base_hash": document.hash,
            "edits": list(edits),
            "label": "test",
            "deadline": int(time.time() * 1000) + deadline_ms,
            **other,
        }

    def apply(self, params: dict[str, Any]) -> dict[str, Any]:
        """Asks for an edit and gives the first answer."""
        answer: dict[str, Any] = self.request("smith/applyEdit", params)
        return answer

    def sent(self, method: str) -> list[Any]:
        """Parameters of everything that came under `method`."""
        return [message.get("params") for message in list(self.received) if message["method"] == method]

    def commands(self, name: str) -> list[dict[str, Any]]:
        """Arguments of every call of a command."""
        calls = self.sent("workspace/executeCommand")
        return [call["arguments"][0] for call in calls if call["command"] == name]

    def done(self, change: str) -> dict[str, Any]:
        """The `smith/editDone` of a deferred change."""

        def reports() -> list[dict[str, Any]]:
            return [params for params in self.sent("smith/editDone") if params["change"] == change]

        return until(reports)[0]

    def respond(self, command: str, result: dict[str, Any], which: int = 0) -> None:
        """Answers a call of a command that was left open, the oldest one unless told otherwise."""
        calls = [message for message in list(self.received) if message["method"] == "workspace/executeCommand"]
        call = [each for each in calls if each["params"]["command"] == command][which]
        self.send({"id": call["id"], "result": result})
