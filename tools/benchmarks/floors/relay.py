"""The server of floor N: a frame in is one request over a plain socket, each read of the answer one frame out."""

import http.client
import json
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit


def send(message: dict[str, str]) -> None:
    """One frame out."""
    body = json.dumps(message).encode()
    os.write(1, b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


def relay(response: http.client.HTTPResponse) -> None:
    """The texts of an answer, joined for each read."""
    rest = b""
    while data := response.read1(65536):
        *events, rest = (rest + data).split(b"\n\n")
        chunks = [json.loads(event[6:]) for event in events if not event.endswith(b"[DONE]")]
        choices = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
        send({"text": "".join(choice["delta"].get("content", "") for choice in choices)})


def main(url: str, body: bytes) -> None:
    """Answer frames until the end of input; a frame comes in one piece."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.netloc)
    while os.read(0, 65536):
        connection.request("POST", f"{place.path}/chat/completions", body)
        relay(connection.getresponse())


main(sys.argv[1], Path(sys.argv[2]).read_bytes())
