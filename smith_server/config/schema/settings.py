"""All settings, as one turn sees them, and the tables in which the same may be spelled otherwise."""

from collections.abc import Mapping
from typing import Annotated, Literal

from smith_server.config.schema.agent import ContextManagement, Services, Share, Subagents
from smith_server.config.schema.faces import Editor, Terminal
from smith_server.config.schema.field import (
    FOLDS,
    FREE,
    LOWER,
    MODEL,
    MOST,
    Count,
    InnerPath,
    Name,
    Pauses,
    Positive,
    Seconds,
    Table,
    about,
)
from smith_server.config.schema.models import Defaults, LlmConfig, Price, Providers
from smith_server.config.schema.safety import Approval, Hooks, Sandbox
from smith_server.config.schema.tools import Bash, Checkpoints, Mcp, Mentions, Web


class Settings(Table, frozen=True, kw_only=True):
    """Everything that can be set."""

    default_model: Annotated[Name, about("Model for every role and provider.", MODEL)] = ""
    models: Annotated[Mapping[Name, Name], about("Model by role, or `default` for all.", MODEL)] = {}
    active_role: Annotated[Literal["direct", "orchestrator"], about("Role that you talk to.")] | None = None
    index_file: Annotated[InnerPath, about("File of the project that the model is told at the start.", FREE)] = (
        "INDEX.md"
    )
    tool_step_budget: Annotated[Positive, about("Calls of one prompt, at most.", LOWER)] | None = None
    max_requests: Annotated[Positive, about("Requests to the model that one prompt may cause.", LOWER)] = 500
    max_budget_usd: (
        Annotated[
            float,
            about(
                "US dollars that one conversation may cost, its sub-agents and summaries included.",
                LOWER,
                gt=0,
                le=MOST,
            ),
        ]
        | None
    ) = None
    empty_response_retry_max_retries: Annotated[
        Count, about("How often an empty answer is asked for again.", LOWER)
    ] = 2
    empty_response_retry_backoff_ms: Annotated[
        Pauses, about("Pauses before that in milliseconds; the last one serves for all further ones.")
    ] = (500, 1000)
    defaults: Defaults = Defaults()
    llm_config: LlmConfig = LlmConfig()
    context_management: ContextManagement = ContextManagement()
    providers: Providers = Providers()
    pricing: Annotated[
        Mapping[Name, Price], about("Prices by `provider/model`; they go before the built-in ones.", FOLDS)
    ] = {}
    approval: Approval = Approval()
    hooks: Hooks = Hooks()
    sandbox: Sandbox = Sandbox()
    bash: Bash = Bash()
    web: Web = Web()
    mentions: Mentions = Mentions()
    checkpoints: Checkpoints = Checkpoints()
    mcp: Mcp = Mcp()
    subagents: Subagents = Subagents()
    editor: Editor = Editor()
    terminal: Terminal = Terminal()
    services: Services = Services()


class Http(Table, frozen=True, kw_only=True):
    """Other spellings of time limits."""

    connect_timeout: Annotated[Seconds, about("The same as `llm_config.connect_timeout`.", LOWER)] = 10
    read_timeout: Annotated[
        Seconds, about("Both `llm_config.stream_stall_timeout` and `llm_config.timeout`.", LOWER)
    ] = 120


class Context(Table, frozen=True, kw_only=True):
    """Other spellings of what belongs to `context_management`."""

    max_tokens: Annotated[Positive, about("The same as `context_management.max_tokens`.", FREE)] | None = None
    compact_at: Annotated[Share, about("A hundredth of `context_management.trim_threshold_pct`.", FREE)] = 0.8
    compact_to: Annotated[Share, about("The same as `context_management.compact_to`.", FREE)] = 0.5


class OtherTables(Table, frozen=True, kw_only=True):
    """Tables that hold other spellings only."""

    http: Http = Http()
    context: Context = Context()
