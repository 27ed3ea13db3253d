"""The server of floors M and N: a frame in is one request over a plain socket, each read of the answer one frame out.

The frame holds the text; with `rpc` it is a notification of JSON-RPC with that as parameters.
"""

import http.client
import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


def send(message: dict[str, Any]) -> None:
    """One frame out."""
    body = json.dumps(message).encode()
    os.write(1, b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


def relay(response: http.client.HTTPResponse, rpc: bool) -> None:
    """The texts of an answer, joined for each read."""
    rest = b""
    while data := response.read1(65536):
        *events, rest = (rest + data).split(b"\n\n")
        chunks = [json.loads(event[6:]) for event in events if not event.endswith(b"[DONE]")]
        choices = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
        text = {"text": "".join(choice["delta"].get("content", "") for choice in choices)}
        send({"jsonrpc": "2.0", "method": "text", "params": text} if rpc else text)


def main(url: str, body: bytes, rpc: bool) -> None:
    """Answer frames until the end of input; a frame comes in one piece."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.netloc)
    while os.read(0, 65536):
        connection.request("POST", f"{place.path}/chat/completions", body)
        relay(connection.getresponse(), rpc)


main(sys.argv[1], Path(sys.argv[2]).read_bytes(), "rpc" in sys.argv[3:])
