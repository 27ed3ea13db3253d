"""Settings of the conversation itself: what is sent of it, delegation, and options of the inner services."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta

from smith_server.config.schema.field import (
    FREE,
    LOWER,
    MOST,
    NEVER,
    Count,
    Name,
    Positive,
    Seconds,
    Table,
    about,
)

Share = Annotated[float, Meta(gt=0, le=1)]


class ContextManagement(Table, frozen=True, kw_only=True):
    """What is sent of a long conversation. The stored conversation is never shortened."""

    enabled: Annotated[bool, about("Shorten what is sent; `false` sends everything, unchanged.", FREE)] = True
    tool_output_keep_rounds: Annotated[Count, about("Newest rounds of calls whose output stays whole.", FREE)] = 7
    tool_output_elide_over_chars: Annotated[
        Count, about("Older output longer than this many characters is replaced by a note.", FREE)
    ] = 1024
    trim_threshold_pct: Annotated[
        float, about("Percent of the ceiling at which the conversation is shortened.", FREE, gt=0, le=100)
    ] = 80
    max_tokens: (
        Annotated[Positive, about("Ceiling in tokens, when it is to be less than the model's window.", FREE)] | None
    ) = None
    compact_to: Annotated[Share, about("Share of the ceiling that is left after shortening.", FREE)] = 0.5
    elide_step: Annotated[Positive, about("Old output is replaced once in this many rounds.", FREE)] = 4
    elide_min_gain_pct: Annotated[
        float, about("Percent of the ceiling that such a step has to free.", FREE, ge=0, le=100)
    ] = 5
    summarize: Annotated[bool, about("Let the model sum up the oldest part when space is needed.", FREE)] = True


class Subagents(Table, frozen=True, kw_only=True):
    """Delegated work."""

    max_depth: Annotated[int, about("How deep delegation may go; 0 switches it off.", LOWER, ge=0, le=100)] = 3
    max_children: Annotated[Count, about("Delegations of one prompt on all levels; 0 switches them off.", LOWER)] = 20
    max_parallel: Annotated[int, about("Delegations that work side by side.", LOWER, ge=1, le=100)] = 4


class WebSearch(Table, frozen=True, kw_only=True):
    """What replaces the values of the search backend Linkup."""

    api_key_env: Annotated[Name, about("Variable that holds the key.", NEVER)] = ""
    endpoint: Annotated[Name, about("Address of the search service.")] = ""
    depth: Annotated[Literal["fast", "standard", "deep"], about("How thorough the search is.")] | None = None
    output_type: (
        Annotated[Literal["searchResults", "sourcedAnswer", "structured"], about("What the search gives back.")] | None
    ) = None
    max_results: Annotated[int, about("Most results of one search.", LOWER, ge=1, le=MOST)] | None = None
    timeout: Annotated[Seconds, about("Seconds for one search.", LOWER)] | None = None


class ToolService(Table, frozen=True, kw_only=True):
    """Options of the service that holds the tools."""

    web_search: WebSearch = WebSearch()


Options = Annotated[Mapping[Name, Any], about("Options of this service.")]


class Services(Table, frozen=True, kw_only=True):
    """Options of the inner services by name. A table of such a name at the top means the same."""

    role: Options = {}
    model: Annotated[
        Mapping[Name, Any],
        about(
            "Options of this service. `catalog` adds what is not known of models, by `provider/model`:"
            " `context_window`, `max_output_tokens`."
        ),
    ] = {}
    tool: ToolService = ToolService()
    dispatch: Options = {}
    conversation: Options = {}
    persistence: Options = {}
    config: Options = {}
    ui: Options = {}
    prompt: Options = {}
    command: Options = {}
