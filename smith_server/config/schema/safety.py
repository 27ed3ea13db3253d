"""Settings that protect the person: approval, rules, hooks, the sandbox."""

from typing import Annotated, Literal

from smith_server.config.schema.field import ABSENT, ADDS, FREE, Line, Pattern, Seconds, Table, about, only

Rules = tuple[Line, ...]


class Approval(Table, frozen=True, kw_only=True):
    """Who decides about a call. A deny beats an ask, an ask beats an allow, an allow beats the mode."""

    mode: Annotated[
        Literal["prompt", "auto"],
        about("`prompt` asks before every call that changes something; `auto` runs everything.", only("prompt")),
    ] = "prompt"
    allow: Annotated[Rules, about("Rules for calls that run without a question, as `tool(pattern)`.")] = ()
    ask: Annotated[Rules, about("Rules for calls that are always asked about.", FREE, ADDS)] = ()
    deny: Annotated[
        Rules, about("Rules for calls that never run; so far they keep files out of searches only.", FREE, ADDS)
    ] = ()
    allowlist: Annotated[
        tuple[str, ...], about("Commands that run without a question: the older spelling of `bash(…)` in `allow`.")
    ] = ()
    protected: Annotated[
        Rules, about("Paths that are asked about in every mode; the folder of the settings is added to the default.")
    ] = ("**/.git/**", "**/.smith/**", "**/SMITH.md", "**/AGENTS.md", "**/.mcp.json")


class Hook(Table, frozen=True, kw_only=True):
    """One command of yours that is run at an event."""

    command: Annotated[Line, about("Shell command; the event comes as JSON on its standard input.")]
    matcher: Annotated[Pattern, about("Regular expression that a tool's name has to contain; empty: all.")] = ""
    timeout: Annotated[Seconds, about("Seconds that the command may take.")] = 60
    once: Annotated[bool, about("Run for the first such event only.")] = False


class Hooks(Table, frozen=True, kw_only=True):
    """Commands of yours that are run at events; those of all layers run, the global ones first."""

    session_start: Annotated[tuple[Hook, ...], about("When a session begins.", ABSENT, ADDS)] = ()
    user_prompt_submit: Annotated[tuple[Hook, ...], about("Before a prompt is sent.", ABSENT, ADDS)] = ()
    pre_tool_use: Annotated[tuple[Hook, ...], about("Before a call.", ABSENT, ADDS)] = ()
    post_tool_use: Annotated[tuple[Hook, ...], about("After a call.", ABSENT, ADDS)] = ()
    stop: Annotated[tuple[Hook, ...], about("When the answer is complete.", ABSENT, ADDS)] = ()


class Sandbox(Table, frozen=True, kw_only=True):
    """Run commands, hooks and tool servers under bubblewrap."""

    enabled: Annotated[bool, about("Use the sandbox; where it cannot work that is an error.", only(True))] = False
    network: Annotated[bool, about("Let what runs in the sandbox use the network.", only(False))] = False
