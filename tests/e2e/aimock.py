"""A scripted model server that somebody else wrote, speaking both protocols from one script."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def usage(read: int, written: int) -> dict[str, int]:
    """The tokens of a reply in the spelling of either protocol."""
    names = ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")
    return {**dict.fromkeys(names[0], read), **dict.fromkeys(names[1], written)}


def calling(*paths: str) -> list[dict[str, Any]]:
    """Calls of `read` side by side."""
    return [{"name": "read", "arguments": json.dumps({"path": path})} for path in paths]


@contextmanager
def running(folder: Path, *fixtures: dict[str, Any]) -> Iterator[str]:
    """The address of a server that plays `fixtures`."""
    (folder / "script.json").write_text(json.dumps({"fixtures": fixtures}))
    shim = shutil.which("aimock")
    assert shim is not None, "aimock is not installed"
    entry = Path(shim).resolve().with_name("cli.js")
    command = ["node", str(entry), "-p", "0", "-f", str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert server.stdout is not None
    try:
        told = (line.partition("listening on ")[2].strip() for line in server.stdout)
        yield next(address for address in told if address)
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
