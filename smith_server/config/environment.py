"""The settings that environment variables stand for."""

from collections.abc import Callable, Mapping
from typing import Any

from smith_server.config.keys import children
from smith_server.config.schema import Providers

_Reader = Callable[[str], dict[str, Any]]

VARIABLES: Mapping[str, _Reader] = {
    "SMITH_PROVIDER": lambda text: {"defaults": {"provider": text}},
    "SMITH_MODEL": lambda text: {"providers": {name: {"model": text} for name in children(Providers)}},
    "SMITH_MODE": lambda text: {"defaults": {"mode": text}},
    "OLLAMA_HOST": lambda text: {"providers": {"ollama": {"host": text}}},
    "MCP_TOOL_TIMEOUT": lambda text: {"mcp": {"timeout": _number(text)}},
}


def from_environment(environ: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The tree of settings of each variable that is set; an empty one counts as unset."""
    return {name: reader(environ[name]) for name, reader in VARIABLES.items() if environ.get(name)}


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
