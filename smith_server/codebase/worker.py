"""A child that reads files and tells their definitions: paths in, one frame per path out, until its input ends."""

import gc
import hashlib
import os
import stat
import struct
import sys
from typing import IO

import msgspec

from smith_server.codebase.definer import definitions
from smith_server.codebase.symbol import Packed, pack

MOST_BYTES = 4 << 20
"""Larger files are not looked at: they are data, or made by a program."""

_LENGTH = struct.Struct("<I")


class Parsed(msgspec.Struct, frozen=True, array_like=True):
    """What a file defines, and the hash of the bytes that were read. `why` tells why there is nothing."""

    hash: bytes
    packed: Packed | None
    why: str = ""


def digest(data: bytes) -> bytes:
    """What tells one content from another."""
    return hashlib.blake2b(data, digest_size=16).digest()


def parsed(path: str, source: bytes) -> Parsed:
    """The definitions in `source`."""
    return Parsed(digest(source), pack(definitions(path, source)))


def parsed_file(path: str) -> Parsed:
    """The definitions of the file at `path`; what cannot be read has none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
                return Parsed(b"", None, "too large" if stat.S_ISREG(status.st_mode) else "no file")
            with open(descriptor, "rb", closefd=False) as file:
                source = file.read(MOST_BYTES + 1)
        finally:
            os.close(descriptor)
    except OSError as problem:
        return Parsed(b"", None, problem.strerror or "unreadable")
    return parsed(path, source)


def read_frame(pipe: IO[bytes]) -> bytes:
    """One frame; b"" at the end."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return b""
    (length,) = _LENGTH.unpack(head)
    body = pipe.read(length)
    return body if len(body) == length else b""


def write_frame(pipe: IO[bytes], body: bytes) -> None:
    """One frame, out at once."""
    pipe.write(_LENGTH.pack(len(body)) + body)
    pipe.flush()


def main() -> None:
    """Answer each list of paths with a frame per path."""
    gc.disable()  # what a tree is made of refers to nothing in a circle
    # Whatever a library prints must not get between the frames.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while body := read_frame(sys.stdin.buffer):
        for path in msgspec.msgpack.decode(body, type=list[bytes]):
            write_frame(answers, msgspec.msgpack.encode(parsed_file(os.fsdecode(path))))
