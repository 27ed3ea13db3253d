"""Which role may use which tool and send which role: two tables, and nothing is allowed outside of them.

`+` allows, `-` denies, `p` allows while a plan is being made. A tool's own lists narrow this further.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

Decision = Literal["allow", "deny"]

_TOOLS = """
                 direct  orchestrator  worker  explorer
bash             +       -             +       +
bash_kill        +       -             +       +
bash_output      +       -             +       +
read             +       +             +       +
code_map         +       +             +       +
code_grep        +       +             +       +
code_files       +       +             +       +
code_symbols     +       +             +       +
code_outline     +       +             +       +
git              -       +             -       -
edit             +       -             +       -
replace          +       -             +       -
write            +       -             +       -
web_search       +       -             +       +
web_fetch        +       -             +       +
report           -       -             +       +
record           +       +             -       -
recall           +       +             -       -
note             +       +             -       -
dispatch         +       +             +       -
todo_write       +       +             +       -
exit_plan_mode   p       p             -       -
mcp__any__tool   +       -             +       -
"""

_DISPATCH = """
                 direct  orchestrator  worker  explorer
direct           -       -             +       +
orchestrator     -       -             +       +
worker           -       -             -       +
explorer         -       -             -       -
"""

_OF_A_SERVER = re.compile(r"mcp__.+__.+", re.DOTALL)


def _table(drawn: str) -> Mapping[tuple[str, str], str]:
    """The marks of a drawn table by row and column."""
    head, *rows = [line.split() for line in drawn.strip().splitlines()]
    marks = {(row[0], column): mark for row in rows for column, mark in zip(head, row[1:], strict=True)}
    return MappingProxyType(marks)


TOOLS = _table(_TOOLS)
"""Mark by tool and role; one row is for all tools of tool servers."""

EDGES = _table(_DISPATCH)
"""Mark by sending and sent role."""


class Gate(Struct, frozen=True):
    """A tool's own lists of roles: who is denied stays so, and no list of the allowed means everybody."""

    allowed: tuple[str, ...] | None = None
    denied: tuple[str, ...] = ()

    def check(self, role: str) -> Decision:
        """Whether `role` passes."""
        if role in self.denied:
            return "deny"
        return "allow" if self.allowed is None or role in self.allowed else "deny"


def check_tool(role: str, tool: str, *, planning: bool = False) -> Decision:
    """Whether `role` may use `tool`; an unknown role or tool is denied."""
    row = "mcp__any__tool" if _OF_A_SERVER.fullmatch(tool) else tool
    mark = TOOLS.get((row, role), "-")
    return "allow" if mark == "+" or (mark == "p" and planning) else "deny"


def check_available(role: str, tool: str, gate: Gate, *, planning: bool = False) -> Decision:
    """Whether `role` is offered `tool`, and may call it: table and gate both have to allow it."""
    decisions = {check_tool(role, tool, planning=planning), gate.check(role)}
    return "deny" if "deny" in decisions else "allow"


def check_dispatch(role: str, target: str) -> Decision:
    """Whether `role` may send `target`; an unknown role, and a role itself, is denied."""
    return "allow" if EDGES.get((role, target)) == "+" else "deny"
