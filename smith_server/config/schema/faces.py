"""Settings of what a person sees: editors and the terminal."""

from collections.abc import Mapping
from typing import Annotated, Literal

from smith_server.config.schema.field import Name, Table, about, only


class Editor(Table, frozen=True, kw_only=True):
    """How edits and open buffers go together."""

    review: Annotated[
        Literal["hunks", "off"],
        about(
            "`hunks`: an edit of an open buffer is made at once and reviewed in place, where the editor can do that."
        ),
    ] = "hunks"
    rebase: Annotated[bool, about("Carry an edit over when you changed other lines of the file meanwhile.")] = False
    save_before_run: Annotated[
        Literal["agent", "ask", "never"],
        about(
            "Before a command: save buffers that hold only edits of the agent, ask for each, or save none.",
            only("never"),
        ),
    ] = "agent"


class Terminal(Table, frozen=True, kw_only=True):
    """How the terminal looks and what it opens."""

    resume: Annotated[
        Literal["new", "project"], about("What it opens: a new conversation, or the project's last one.")
    ] = "new"
    rain: Annotated[bool, about("Let it rain while a delegated task waits, where the terminal can show it.")] = True
    theme: Annotated[Name, about("Colors; `auto` asks the terminal whether it is dark.")] = "auto"
    keys: Annotated[Mapping[Name, Name], about("Keys by the name of what they do.")] = {}
