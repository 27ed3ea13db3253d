"""The floor of row 19: reads put together, split at blank lines, the data of each event decoded as JSON."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

event, size = bytes.fromhex(sys.argv[1]), int(sys.argv[2])
block = event * (1048576 // len(event))
chunks = [block[at : at + 65536] for at in range(0, len(block), 65536)]


def events(size: int) -> Iterator[bytes]:
    """The data of each event in so many bytes."""
    rest, done = b"", 0
    while done < size:
        for chunk in chunks:
            *found, rest = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n\n")
            yield from (line[6:] for one in found for line in one.split(b"\n") if line.startswith(b"data: "))
        done += len(block)


def read(decode: Callable[[bytes], Any]) -> float:
    """MB/s."""
    began, count = time.process_time(), 0
    for data in events(size):
        decode(data)
        count += 1
    return count * len(event) / 1e6 / (time.process_time() - began)


print(json.dumps({"per_second": max(read(json.loads), read(msgspec.json.decode))}))
