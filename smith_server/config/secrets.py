"""Keys: read from the environment alone, blanked wherever text leaves the process."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from smith_server.config.keys import Path, key_at
from smith_server.config.schema import Settings
from smith_server.config.schema.field import SECRET

_SHORTEST = 8
_BLANK = "[key]"
_HIDDEN = "[hidden]"
_USER_PART = re.compile(r"(?<=://)[^/?#\s@]*(?:@[^/?#\s@]*)*@")
_TELLING = re.compile(r"(?i)(key|token|secret|password|authorization)$")

KEY_VARIABLES = (
    "OPENROUTER_API_KEY",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "LINKUP_API_KEY",
    "BRAVE_API_KEY",
    "TAVILY_API_KEY",
)


def key_variables(*configured: str) -> tuple[str, ...]:
    """Every variable that may hold a key; `configured` are those named in the settings."""
    return tuple(dict.fromkeys(filter(None, (*KEY_VARIABLES, *configured))))


def variables_of(settings: Settings) -> tuple[str, ...]:
    """Every variable that may hold a key under these settings."""
    return key_variables(settings.llm_config.api_key_env, settings.services.tool.web_search.api_key_env)


def mask(environ: Mapping[str, str], names: Iterable[str]) -> Callable[[str], str]:
    """A function that blanks the values of these variables in a text.

    Values under eight characters are left: blanking them would hit ordinary words.
    """
    values = sorted({environ[name] for name in names if len(environ.get(name, "")) >= _SHORTEST}, key=len, reverse=True)
    if not values:
        return str

    def blank(text: str) -> str:
        for value in values:
            if value in text:
                text = text.replace(value, _BLANK)
        return text

    return blank


def shown(path: Path, value: Any) -> Any:
    """A setting as it may be shown: secrets hidden, users and passwords in addresses too."""
    key = key_at(path)
    if (key is not None and SECRET in key.marks) or _TELLING.search(path[-1]):
        return _HIDDEN
    if isinstance(value, str):
        return _USER_PART.sub(f"{_HIDDEN}@", value)
    if isinstance(value, Mapping):
        return {name: shown((*path, name), each) for name, each in value.items()}
    return [shown(path, each) for each in value] if isinstance(value, list | tuple) else value
