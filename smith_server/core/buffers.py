"""Commands look at the disk, edits sit in buffers: what is saved before, what is told after.

A buffer with the person's own unsaved text is never saved without their answer.
"""

from collections.abc import Sequence
from pathlib import Path

from smith_server.core.editor import OpenText
from smith_server.core.events import FilesChanged
from smith_server.core.ports import Question
from smith_server.core.scope import TurnInput

_OWN = "unsaved edit of this conversation"
_THEIRS = "unsaved text of the user"


async def to_save(turn: TurnInput) -> Sequence[OpenText]:
    """The buffers that may be written before a command, without or with the person's answer."""
    if turn.save_before_run == "never":
        return ()
    unsaved = await turn.editor.unsaved()
    if turn.save_before_run == "ask":
        return unsaved
    return [buffer for buffer in unsaved if buffer.own_only]


async def save(turn: TurnInput, call_id: str, shown: Sequence[OpenText], reason: str) -> None:
    """Write those of `shown` that still hold edits of this conversation alone.

    With the setting `ask`, those that hold the person's own text too, after a yes. The texts are looked at
    again after every question: the person may have typed while it was open.
    """
    allowed = {buffer.path for buffer in shown if buffer.own_only}
    buffers = await to_save(turn)
    own = [buffer for buffer in buffers if not buffer.own_only]
    agreed: set[Path] = set()
    if own and await _may_save(turn, call_id, own, reason):
        agreed = {buffer.path for buffer in own}
    if own:
        buffers = await to_save(turn)
    texts = [each for each in buffers if each.path in agreed or (each.own_only and each.path in allowed)]
    turn.token.check()
    for outcome in await turn.editor.save(texts, reason) if texts else ():
        if outcome.status == "saved":
            await turn.adopt(outcome.path)


async def _may_save(turn: TurnInput, call_id: str, buffers: Sequence[OpenText], reason: str) -> bool:
    names = tuple(shown(buffer.path, turn.cwd) for buffer in buffers)
    title = f"save {', '.join(names)} before {reason}?"
    answer = await turn.approver.ask(Question(call_id, "save", title, saves=names), turn.token)
    return answer.decision in ("yes", "always")


def not_on_disk(unsaved: Sequence[OpenText], cwd: Path) -> str:
    """One line that names what a command could not see, or ""."""
    names = [f"{shown(buffer.path, cwd)} ({_OWN if buffer.own_only else _THEIRS})" for buffer in unsaved]
    return f"not on disk: {', '.join(names)}" if names else ""


def without_theirs(unsaved: Sequence[OpenText], cwd: Path) -> str:
    """The same for the person, about their own text alone, or ""."""
    names = [shown(buffer.path, cwd) for buffer in unsaved if not buffer.own_only]
    return f"{', '.join(names)} as on disk, without your unsaved text" if names else ""


def after_disk(
    turn: TurnInput, changed: Sequence[Path], unsaved: Sequence[OpenText]
) -> tuple[FilesChanged | None, str]:
    """What a call changed on disk: the event to emit, if any, and a line for the model, or "".

    `unsaved` are the buffers that differed from their files before: those the editor keeps.
    """
    if not changed:
        return None, ""
    modified = [path for path in changed if path in {buffer.path for buffer in unsaved}]
    event = FilesChanged(paths=tuple(map(str, changed)), modified=tuple(map(str, modified)))
    names = ", ".join(shown(path, turn.cwd) for path in modified)
    return (
        event,
        f"changed on disk, but open with unsaved text and left as it is in the editor: {names}" if names else "",
    )


def shown(path: Path, cwd: Path) -> str:
    """A path as people write it: relative where it lies below `cwd`."""
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
