"""The wire formats, each in one line: where it is served, how a key is shown, who writes and reads it."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Protocol

from msgspec import Struct

from smith_server.core.late import late
from smith_server.core.ports import Request
from smith_server.llm.answer import Reader
from smith_server.llm.presets import Preset


class Encoder(Protocol):
    """Makes the bodies of one provider's requests."""

    def body(self, request: Request) -> bytes:
        """Raises `AgentFailure` for a request that must not be sent."""
        ...

    def call_ids(self, request: Request) -> Collection[str]:
        """The ids of all calls in a request whose body was made just before."""
        ...


class Dialect(Struct, frozen=True):
    """A wire format. `key_header` is a header's name and what stands before the key in it.

    `reader` is made of the preset, the content type and the ids of calls that are taken.
    """

    path: str
    key_header: tuple[str, str]
    encoder: Callable[[Preset], Encoder]
    reader: Callable[[Preset, str, Collection[str]], Reader]


DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        "openai": Dialect(
            "/chat/completions",
            ("Authorization", "Bearer "),
            late("smith_server.llm.openai_request:OpenAIEncoder"),
            late("smith_server.llm.openai_stream:OpenAIReader"),
        ),
        "anthropic": Dialect(
            "/messages",
            ("x-api-key", ""),
            late("smith_server.llm.anthropic_request:AnthropicEncoder"),
            late("smith_server.llm.anthropic_stream:AnthropicReader"),
        ),
    }
)
