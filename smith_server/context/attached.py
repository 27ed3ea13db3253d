"""What a person pointed at when they sent a prompt, as words behind it."""

from msgspec import Struct

MOST_SELECTED = 20_000
MOST_REMARKS = 50


class Attached(Struct, frozen=True):
    """A file, the lines (first and last, from 1) of cursor or selection, the selected text, and sentences about it."""

    path: str
    lines: tuple[int, int] | None = None
    selection: str = ""
    remarks: tuple[str, ...] = ()


def in_words(attached: Attached) -> str:
    """A short block that names the file and shows the selection."""
    where = attached.path
    if attached.lines is not None:
        first, last = attached.lines
        where += f", line {first}" if first == last else f", lines {first}-{last}"
    remarks = "".join(f"\n- {remark}" for remark in attached.remarks[:MOST_REMARKS])
    if left := attached.remarks[MOST_REMARKS:]:
        remarks += f"\n[{len(left)} more]"
    if not attached.selection:
        return f"[In the editor: {where}]{remarks}"
    shown = attached.selection[:MOST_SELECTED]
    left_out = len(attached.selection) - len(shown)
    more = f"\n[{left_out} more characters]" if left_out else ""
    fence = "```" if "```" not in shown else "~~~~~~"
    return f"[Selected in the editor: {where}]\n{fence}\n{shown.rstrip()}{more}\n{fence}{remarks}"
