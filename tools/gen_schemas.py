"""Writes `smith_server/tools/schemas.json`: what models are told of the arguments of tools that are loaded late.

`--check` writes nothing and fails when the file is not what would be written.
"""

import json
import sys
from pathlib import Path
from typing import Any, cast

from smith_server.core.tool import spec
from smith_server.tools.announced import Announced
from smith_server.tools.exploring import Around, Known
from smith_server.tools.limits import Limits
from smith_server.tools.registry import Parts, Shell, Web, all_tools

FILE = Path(__file__).resolve().parent.parent / "smith_server" / "tools" / "schemas.json"
_NOTHING = cast(Any, None)


def _nothing() -> Any:
    return None


def announced() -> list[Announced]:
    """Every tool that is loaded late, made of nothing: it can be described, not called."""
    around = Around(_nothing, _NOTHING, (), Path("/"), Path("/"), tuple, Known(None))
    shell = Shell(_nothing, _nothing, Limits())
    parts = Parts(_nothing, around, shell, Web(_nothing, 1), _NOTHING, None, _NOTHING, _NOTHING)
    return [tool for tool in all_tools(parts).values() if isinstance(tool, Announced)]


def written() -> str:
    """The file as it should be; the order of keys is that of the arguments."""
    return json.dumps({tool.name: spec(tool.tool).schema for tool in announced()}, indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Write or check; the exit code."""
    text = written()
    if "--check" not in sys.argv[1:]:
        FILE.write_text(text, encoding="utf-8")
        return 0
    if FILE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{FILE} is not what the tools say: run tools/gen_schemas.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
