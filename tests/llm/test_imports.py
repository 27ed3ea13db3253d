"""What a start pays for."""

import json
import subprocess
import sys
from pathlib import Path

import smith_server.llm

MODULES = sorted(path.stem for path in Path(smith_server.llm.__file__).parent.glob("*.py") if path.stem != "__init__")
HEAVY = ["httpx", "httpcore", "h11", "anyio", "certifi", "click", "rich", "urllib.request", "email", "http.client"]


def loaded_after(code: str) -> set[str]:
    script = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout))


def test_importing_every_module_imports_nothing_heavy() -> None:
    imports = "\n".join(f"import smith_server.llm.{name}" for name in MODULES)
    assert loaded_after(imports) & set(HEAVY) == set()


def test_the_first_request_imports_the_client_without_its_command_line() -> None:
    script = """
import asyncio
from smith_server.core.cancel import CancelToken
from smith_server.core.messages import UserMessage
from smith_server.core.ports import Request
from smith_server.llm.http import Connections
from smith_server.llm.presets import Preset
from smith_server.llm.provider import HttpProvider

async def main():
    provider = HttpProvider(Preset("custom", "http://127.0.0.1:1/v1"), Connections())
    request = Request("m", "", (UserMessage("1", "Hi"),))
    assert [delta async for delta in provider.stream(request, CancelToken())][-1].error.code == "unreachable"

asyncio.run(main())
"""
    found = loaded_after(script)
    assert "httpx" in found
    assert found & {"click", "rich"} == set()
