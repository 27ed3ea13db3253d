"""A prompt from standard input, for a run that names none."""

import sys

from smith_server.core.errors import failure

MOST_BYTES = 10_000_000


def piped() -> str:
    """What standard input holds, to its end; "" from a terminal, and where nothing can be read.

    Raises a `schema` failure `prompt_too_long` above `MOST_BYTES`.
    """
    if sys.stdin.isatty():
        return ""
    try:
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
    except OSError:
        return ""
    if len(data) > MOST_BYTES:
        text = f"The prompt on standard input is above {MOST_BYTES:,} bytes. Name files in it, the model can read them."
        raise failure("schema", "prompt_too_long", text)
    return data.decode("utf-8", "replace").rstrip()
