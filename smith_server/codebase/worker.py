"""A child that reads files and tells their definitions: files in, one frame per file out, until its input ends."""

import gc
import hashlib
import os
import resource
import signal
import stat
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO

import msgspec

from smith_server.codebase.definer import by_lines, definitions
from smith_server.codebase.symbol import Packed, pack

MOST_BYTES = 4 << 20
"""Larger files are not looked at, larger texts only by their lines: they are data, or made by a program."""

_PROCESSOR_SECONDS = 3.0
_SECONDS = 10.0
"""What one file may take of a processor, so that a busy machine gives up no more files, and in all."""

_MEMORY = 1 << 30
"""Bytes; a tree may be hundreds of times as large as its text."""

TOOK_TOO_LONG = "took too long to be taken apart"
FAILED = "could not be taken apart"
TOO_LARGE = "too large"

_LENGTH = struct.Struct("<I")


class Work(msgspec.Struct, frozen=True):
    """A file to take apart: what it holds is `text`, or read from disk.

    `exact` keeps the blanks in the lines of definitions; `plainly` goes by the look of lines alone.
    """

    path: str
    text: bytes | None = None
    exact: bool = False
    plainly: bool = False


class Parsed(msgspec.Struct, frozen=True, array_like=True):
    """What a file defines, and the hash of the bytes that were read. `why` tells why there is nothing."""

    hash: bytes
    packed: Packed | None
    why: str = ""


def digest(data: bytes) -> bytes:
    """What tells one content from another."""
    return hashlib.blake2b(data, digest_size=16).digest()


def sent(works: Sequence[Work]) -> bytes:
    """The frame that asks for these. A path need not be Unicode."""
    return msgspec.msgpack.encode([(os.fsencode(each.path), each.text, each.exact, each.plainly) for each in works])


def received(body: bytes) -> Iterator[Work]:
    """What `sent` made a frame of."""
    for path, text, exact, plainly in msgspec.msgpack.decode(body, type=list[tuple[bytes, bytes | None, bool, bool]]):
        yield Work(os.fsdecode(path), text, exact=exact, plainly=plainly)


def parsed(work: Work) -> Parsed:
    """The definitions in a text, or in the file; what cannot be read has none."""
    source = work.text if work.text is not None else _read(work.path)
    if isinstance(source, Parsed):
        return source
    rough = work.plainly or len(source) > MOST_BYTES
    found = by_lines(work.path, source) if rough else definitions(work.path, source)
    return Parsed(digest(source), pack(found, exact=work.exact, rough=rough))


def _read(path: str) -> bytes | Parsed:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
                return Parsed(b"", None, TOO_LARGE if stat.S_ISREG(status.st_mode) else "no file")
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(MOST_BYTES + 1)
        finally:
            os.close(descriptor)
    except OSError as problem:
        return Parsed(b"", None, problem.strerror or "unreadable")


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
    """Answer each list of files with a frame per file.

    A file that takes too long ends the process: by a signal that nothing handles, since no other
    code gets to run while a text is taken apart.
    """
    gc.disable()  # what a tree is made of refers to nothing in a circle
    # Whatever a library prints must not get between the frames.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _bounded()
    while body := read_frame(sys.stdin.buffer):
        for work in received(body):
            _limited(_PROCESSOR_SECONDS, _SECONDS)
            answer = msgspec.msgpack.encode(parsed(work))
            _limited(0, 0)
            write_frame(answers, answer)


def _bounded() -> None:
    for each in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(each, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGPROF, signal.SIGALRM))
    for kind, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, _MEMORY)):
        with suppress(OSError, ValueError):  # not everywhere, and there may be a lower one
            resource.setrlimit(kind, (most, most))


def _limited(processor: float, seconds: float) -> None:
    """From now on so long, 0 for ever."""
    signal.setitimer(signal.ITIMER_PROF, processor)
    signal.setitimer(signal.ITIMER_REAL, seconds)
