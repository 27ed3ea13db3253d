"""What a person pointed at when they sent a prompt, as words behind it."""

from msgspec import Struct

MOST_SELECTED = 20_000
MOST_PROBLEMS = 50


class Attached(Struct, frozen=True):
    """A file, the lines (first and last, from 1) of cursor or selection, the selected text, and problems shown there.

    `problems` are lines of text.
    """

    path: str
    lines: tuple[int, int] | None = None
    selection: str = ""
    problems: tuple[str, ...] = ()


def in_words(attached: Attached) -> str:
    """A short block that names the file and shows the selection and the problems."""
    told = _place(attached)
    shown = [f"- {text}" for text in attached.problems[:MOST_PROBLEMS]]
    if left_out := len(attached.problems) - len(shown):
        shown.append(f"- and {left_out} more")
    return "\n".join([told, "[Problems that the editor shows:]", *shown]) if shown else told


def _place(attached: Attached) -> str:
    where = attached.path
    if attached.lines is not None:
        first, last = attached.lines
        where += f", line {first}" if first == last else f", lines {first}-{last}"
    if not attached.selection:
        return f"[In the editor: {where}]"
    shown = attached.selection[:MOST_SELECTED]
    left_out = len(attached.selection) - len(shown)
    more = f"\n[{left_out} more characters]" if left_out else ""
    fence = "```" if "```" not in shown else "~~~~~~"
    return f"[Selected in the editor: {where}]\n{fence}\n{shown.rstrip()}{more}\n{fence}"
