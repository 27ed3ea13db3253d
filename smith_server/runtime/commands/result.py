"""What a command line gives back."""

from typing import Any

from msgspec import Struct

from smith_server.core.errors import AgentError


class Result(Struct, frozen=True):
    """Text to show, data for programs, a `page` with its `title` and `format` for a pager, or what went wrong."""

    text: str = ""
    data: dict[str, Any] = {}
    page: str = ""
    title: str = ""
    format: str = "markdown"
    error: AgentError | None = None
