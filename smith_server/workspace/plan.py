"""Working out a change: which text an edit was made for, and what it makes of the one that is there."""

from contextlib import suppress

from msgspec import Struct, structs

from smith_server.core.errors import ToolRefusal
from smith_server.workspace.edits import Edit, Edited, LineEdit, Rewrite, apply, check_range, check_text, edited
from smith_server.workspace.ground import Ground, no_ground
from smith_server.workspace.hunks import line_changes
from smith_server.workspace.ledger import Ledger, Step, carried
from smith_server.workspace.paths import Place
from smith_server.workspace.rebase import rebased
from smith_server.workspace.stale import mismatch
from smith_server.workspace.text import decode, only_line_end, text_hash


class Plan(Struct, frozen=True):
    """A change that was found possible: the text now, what becomes of it, and the hash of that.

    `base` is the text that the edit was made for, where it is still known. `seen` tells whether
    the model knows all of the text that the change leaves.
    """

    ground: Ground
    edit: Edit
    made: Edited
    hash: str
    base: str | None = None
    created: bool = False
    rebased: bool = False
    seen: bool = True
    notes: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether the text stays as it is."""
        return not self.made.hunks and not self.created

    def step(self) -> Step:
        """The change as an own edit for the ledger."""
        return Step(self.ground.hash, self.hash, line_changes(self.ground.text, self.made.hunks))


def plan_creation(place: Place, edit: Rewrite) -> Plan:
    """A file that is not there yet, with exactly the content that was given."""
    check_text(edit.content)
    decoded = decode(edit.content.encode())
    ground = structs.replace(no_ground(place), bom=decoded.bom)
    made = edited("", decoded.text)
    return Plan(ground, edit, made, text_hash(made.text), created=True)


def plan_edit(ground: Ground, edit: Edit, given: str, ledger: Ledger, *, rebase: bool) -> Plan:
    """`edit` on the text of `ground`, if that is the text it was made for or only own edits lie between.

    Raises `hash_required`, `hash_mismatch` and what `apply` raises.
    """
    real = ground.place.real
    known = ledger.known(real)
    base_hash = given or ("" if isinstance(edit, LineEdit) else known)
    if not base_hash:
        raise ToolRefusal("hash_required", f"{ground.place.name} exists. Read it first, and give the hash you got.")
    base = ledger.text(real, base_hash)
    seen = isinstance(edit, Rewrite) or known == ground.hash
    steps = ledger.own_since(real, base_hash, ground.hash)
    if steps is not None:
        made = _applied_to(ground, _carried(ground, edit, steps, base))
        return Plan(ground, edit, made, _hash_after(ground, made), base, seen=seen)
    moved = _moved(ground, edit, base) if rebase else None
    if moved is None:
        raise mismatch(ground, edit, base)
    return Plan(ground, edit, moved, _hash_after(ground, moved), base, rebased=True, seen=False)


def _hash_after(ground: Ground, made: Edited) -> str:
    """The hash that the text will have; on disk a U+FEFF that came to the front is a mark from then on."""
    if ground.buffer is None and not ground.bom:
        return text_hash(made.text.removeprefix("\ufeff"))
    return text_hash(made.text)


def _carried(ground: Ground, edit: Edit, steps: tuple[Step, ...], base: str | None) -> Edit:
    """The edit with its lines counted in the current text."""
    if not steps or not isinstance(edit, LineEdit):
        return edit
    check_range(edit)
    lines = carried(steps, edit.start - 1, edit.start - 1 if edit.operation == "insert" else edit.end)
    if lines is None:
        raise mismatch(ground, edit, base, f"An edit of your own changed these lines of {ground.place.name} since")
    return structs.replace(edit, start=lines[0] + 1, end=lines[1])


def _applied_to(ground: Ground, edit: Edit) -> Edited:
    """`edit` on the text of `ground`. A buffer of one line end is an empty file: editors show both the same."""
    if ground.buffer is None or not only_line_end(ground.text):
        return apply(edit, ground.text, keep_final_end=ground.buffer is not None)
    new_text = apply(edit, "").text
    if new_text and not new_text.endswith("\n"):
        new_text += "\n"
    new_text = new_text.replace("\n", ground.text) or ground.text
    return edited(ground.text, new_text)


def _moved(ground: Ground, edit: Edit, base: str | None) -> Edited | None:
    """`edit` moved from the text it was made for onto the current one; None where they meet."""
    if base is None or isinstance(edit, Rewrite):
        return None
    with suppress(ToolRefusal):
        return rebased(apply(edit, base, keep_final_end=ground.buffer is not None), base, ground.text)
    return None
