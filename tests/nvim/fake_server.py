"""A server for the plug-in alone: frames on stdio, and behind them a test (`--socket`) or a script (`--play`).

With `--socket PATH` every message goes to that socket as a line of JSON and back. With `--play FILE` each turn
plays the events of FILE, a line of JSON each; `{"wait_ms": n}` waits.
"""

import argparse
import json
import socket
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

CAPABILITIES = {
    "positionEncoding": "utf-8",
    "textDocumentSync": {"openClose": True, "change": 2, "save": True},
    "executeCommandProvider": {"commands": ["smith.turn", "smith.cancel", "smith.answer", "smith.slash"]},
    "experimental": {"smith": {"protocol": 1, "version": "0-fake"}},
}


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The body of the next frame, None at the end of the stream."""
    length = 0
    while line := stream.readline():
        if line == b"\r\n":
            return stream.read(length)
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return None


def write_frame(stream: IO[bytes], body: bytes) -> None:
    """One frame, out at once."""
    stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    stream.flush()


def relay(path: str) -> None:
    """Hands every message to the test at `path`, and its messages to the editor."""
    wire = socket.socket(socket.AF_UNIX)
    wire.connect(path)
    lines = wire.makefile("rb")

    def outward() -> None:
        for line in lines:
            write_frame(sys.stdout.buffer, line.rstrip(b"\n"))

    threading.Thread(target=outward, daemon=True).start()
    while (body := read_frame(sys.stdin.buffer)) is not None:
        wire.sendall(body + b"\n")
        if json.loads(body).get("method") == "exit":
            break
    wire.shutdown(socket.SHUT_RDWR)


class Player:
    """Answers like a server whose every turn goes as the script says."""

    def __init__(self, script: Path) -> None:
        self._script = [json.loads(line) for line in script.read_text(encoding="utf-8").splitlines()]
        self._seq = 0

    def send(self, message: dict[str, Any]) -> None:
        write_frame(sys.stdout.buffer, json.dumps({"jsonrpc": "2.0", **message}).encode())

    def event(self, fields: dict[str, Any]) -> None:
        self._seq += 1
        params = {"conversation": "c1", "turn": "t1", **fields, "seq": self._seq}
        self.send({"method": "smith/event", "params": params})

    def turn(self, request: int, text: str) -> None:
        for fields in self._script:
            if "wait_ms" in fields:
                time.sleep(fields["wait_ms"] / 1000)
            else:
                self.event({**fields, "text": text} if fields["kind"] == "turn_started" else fields)
        self.send({"id": request, "result": {"conversation": "c1", "turn": "t1", "stop_reason": "completed"}})

    def command(self, request: int, name: str, argument: dict[str, Any]) -> None:
        if name == "smith.turn":
            threading.Thread(target=self.turn, args=(request, argument["text"]), daemon=True).start()
            return
        if name == "smith.answer":
            answered = {"kind": "approval_answered", "id": argument["id"], "decision": argument["decision"]}
            self.event(answered)
        result = {"ok": True, "text": "Nothing to tell."} if name == "smith.slash" else {}
        self.send({"id": request, "result": result})

    def run(self) -> None:
        while (body := read_frame(sys.stdin.buffer)) is not None:
            message = json.loads(body)
            match message.get("method"):
                case "initialize":
                    self.send({"id": message["id"], "result": {"capabilities": CAPABILITIES}})
                case "workspace/executeCommand":
                    params = message["params"]
                    self.command(message["id"], params["command"], params["arguments"][0])
                case "shutdown":
                    self.send({"id": message["id"], "result": None})
                case "exit":
                    return


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket")
    parser.add_argument("--play", type=Path)
    options = parser.parse_args()
    if options.socket:
        relay(options.socket)
    else:
        Player(options.play).run()


if __name__ == "__main__":
    main()
