"""What differs between vendors of one dialect, as flags. A new compatible vendor is a few of them."""

from typing import Literal

from msgspec import Struct


class Compat(Struct, frozen=True):
    """Flags of a vendor that speaks OpenAI Chat Completions.

    `max_tokens_field` caps the output. `stream_usage` asks for the usage in the stream;
    `says_stream` sends `stream` even when it is false. `effort_field` is where a reasoning effort
    goes. `returns` are the reasoning fields that go back to the vendor that sent them.
    `longest_call_id` bounds the ids of calls (0: any length). `marks_cache`: models whose name
    begins so are told what to keep. `tells_cost`: usage says what the request cost, in US dollars.
    """

    max_tokens_field: str = "max_tokens"
    stream_usage: bool = True
    says_stream: bool = False
    effort_field: Literal["reasoning_effort", "reasoning"] = "reasoning_effort"
    returns: tuple[str, ...] = ("reasoning_content", "reasoning", "reasoning_details")
    longest_call_id: int = 0
    marks_cache: tuple[str, ...] = ()
    tells_cost: bool = False


OPENAI = Compat(max_tokens_field="max_completion_tokens", longest_call_id=40)
OPENROUTER = Compat(effort_field="reasoning", marks_cache=("anthropic/", "~anthropic/"), tells_cost=True)
OLLAMA = Compat(says_stream=True)
