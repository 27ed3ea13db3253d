"""The floor of row 17: reads put together, split at blank lines, the data of each event decoded as JSON."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec

event, size = bytes.fromhex(sys.argv[1]), int(sys.argv[2])
block = event * (1048576 // len(event))
chunks = [block[at : at + 65536] for at in range(0, len(block), 65536)]


def read(decode: Callable[[bytes], Any]) -> float:
    """MB/s."""
    rest, done, events = b"", 0, 0
    began = time.process_time()
    while done < size:
        for chunk in chunks:
            *found, rest = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n\n")
            for one in found:
                for line in one.split(b"\n"):
                    if line.startswith(b"data: "):
                        decode(line[6:])
                        events += 1
        done += len(block)
    assert events == done // len(event), "every event has to be read"
    return done / 1e6 / (time.process_time() - began)


print(json.dumps({"per_second": max(read(json.loads), read(msgspec.json.decode))}))
