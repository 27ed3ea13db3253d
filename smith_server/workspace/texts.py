"""The one answer to "what does this path say" and "change it".

The editor is asked first, then the disk. Every change is guarded by the hash of the text it was
made for; a file that is open is changed in its buffer alone, one that is not by atomic replacement.
"""

import asyncio
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct, structs

from smith_server.core.editor import Change, Editor, Receipt
from smith_server.core.errors import ToolRefusal
from smith_server.workspace import atomic, receipts, swap
from smith_server.workspace.edits import Edit, Rewrite, edited
from smith_server.workspace.files import MOST_BYTES, read_file
from smith_server.workspace.ground import (
    Ground,
    ground_in_buffer,
    ground_on_disk,
    require_editable,
    require_holds,
    require_text,
)
from smith_server.workspace.hunks import hunks_between, line_changes
from smith_server.workspace.ledger import Ledger, Step
from smith_server.workspace.paths import Place
from smith_server.workspace.plan import Plan, plan_creation, plan_edit
from smith_server.workspace.stale import mismatch
from smith_server.workspace.text import only_line_end

T = TypeVar("T")
_MOST_TRIES = 3


class View(Struct, frozen=True):
    """What a file says.

    `differs`: the buffer holds what is not on disk. `changed`: somebody else changed the text
    since the last read or edit of this conversation. `read_only`: code of why it can only be read, or "".
    """

    place: Place
    text: str
    hash: str
    source: Literal["buffer", "disk"]
    encoding: str
    differs: bool = False
    changed: bool = False
    read_only: str = ""


class _Pending(Struct, frozen=True):
    """A change that was sent to an editor and has no receipt yet."""

    change: str
    plan: Plan


class Texts:
    """The files of one conversation, or of one child, with what it knows of them.

    `rebase` moves an edit made for an older text onto the current one where the two are apart.
    `environment` tells where editors keep their swap files.
    """

    def __init__(
        self,
        editor: Editor,
        *,
        rebase: bool = False,
        most_bytes: int = MOST_BYTES,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._editor = editor
        self._rebase = rebase
        self._most_bytes = most_bytes
        self._environment = environment
        self._ledger = Ledger()
        self._unsettled: dict[Path, _Pending] = {}
        self._swept: set[Path] = set()
        self.created: list[Path] = []
        """The files that were made here, in order."""

    async def read(self, place: Place) -> View:
        """The text at `place`, which from now on counts as known. Raises what `read_file` raises, and `binary_file`."""
        ground = await self._ground(place)
        require_text(ground)
        self._settle(ground)
        last = self._ledger.last(place.real)
        self._ledger.note_read(place.real, ground.hash, ground.text)
        return View(
            place,
            "" if ground.buffer is not None and only_line_end(ground.text) else ground.text,
            ground.hash,
            ground.source,
            ground.encoding,
            differs=ground.buffer is not None and ground.buffer.modified,
            changed=last not in ("", ground.hash),
            read_only=_why_not(ground),
        )

    async def plan(self, place: Place, edit: Edit, known_hash: str = "") -> Plan:
        """Work out `edit` and change nothing.

        `known_hash` is the hash of the text that it was made for; without one, that of the last
        read or own edit holds, except for a `LineEdit`. Raises `ToolRefusal` with the reason.
        """
        if place.real in self._unsettled:
            raise ToolRefusal(
                "unsettled", f"It is not known whether the last edit of {place.name} was applied. Read the file first."
            )
        given = known_hash.strip().lower()
        try:
            ground = await self._ground(place, certain=True)
        except ToolRefusal as problem:
            if problem.error.code != "file_not_found" or not isinstance(edit, Rewrite) or given:
                raise
            plan = plan_creation(place, edit)
        else:
            require_editable(ground)
            plan = await asyncio.to_thread(plan_edit, ground, edit, given, self._ledger, rebase=self._rebase)
        return structs.replace(plan, notes=await self._notes(plan))

    async def change(self, place: Place, edit: Edit, known_hash: str = "", label: str = "") -> Plan:
        """Plan `edit` and do it; the result tells what was done, with the hash that the file has now.

        Raises `ToolRefusal`: then nothing was changed, except for `edit_unknown`, which says so.
        """
        plan = await self.plan(place, edit, known_hash)
        for _ in range(_MOST_TRIES):
            if plan.is_nothing:
                return plan
            if plan.ground.buffer is None:
                return await self._on_disk(plan)
            receipt = await self._in_buffer(plan, label)
            if receipt.status == "applied":
                return await self._applied(plan, receipt)
            if receipt.status not in ("gone", "stale"):
                raise receipts.refusal(receipt, place.name)
            # Worked out again for the text there is now: that refuses it, or finds that it still fits.
            plan = await self.plan(place, edit, known_hash)
        if receipt.status == "gone":
            raise receipts.refusal(receipt, place.name)
        raise mismatch(plan.ground, edit, plan.base)

    async def adopt(self, place: Place) -> str:
        """Count the text at `place` as an own edit: a hook of ours, or a save that we asked for, made it so.

        Returns its hash. A file that this conversation never had is left alone.
        """
        ground = await self._ground(place)
        last = self._ledger.last(place.real)
        base = self._ledger.text(place.real, last)
        if base is not None and last != ground.hash:
            step = Step(last, ground.hash, line_changes(base, hunks_between(base, ground.text)))
            self._ledger.note_edit(place.real, step, ground.text, seen=self._ledger.known(place.real) == last)
        return ground.hash

    def late_receipt(self, change: str, receipt: Receipt) -> None:
        """What became of a change after all, when its first answer was `unknown`."""
        if receipt.status == "unknown":
            return
        for path, pending in list(self._unsettled.items()):
            if pending.change == change:
                del self._unsettled[path]
                if receipt.status == "applied" and receipt.hash in ("", pending.plan.hash):
                    self._note(pending.plan)

    async def _ground(self, place: Place, *, certain: bool = False) -> Ground:
        buffer = await self._editor.open_text(place.real, certain=certain)
        if buffer is None:
            return await asyncio.to_thread(lambda: ground_on_disk(read_file(place, self._most_bytes)))
        if len(buffer.text) > self._most_bytes:
            raise self._too_large(place)
        return ground_in_buffer(place, buffer)

    async def _notes(self, plan: Plan) -> tuple[str, ...]:
        """What should be said about writing the plan; raises when something forbids it."""
        ground = plan.ground
        if len(plan.made.text) > self._most_bytes:
            raise self._too_large(ground.place)
        if ground.buffer is not None:
            require_holds(ground, "".join(hunk.new for hunk in plan.made.hunks))
            return ()
        stale = await asyncio.to_thread(swap.require_free, ground.place, self._environment)
        notes = [f"stale lock of {mark.editor} ignored: {mark.path.name}" for mark in stale]
        if ground.disk is not None and ground.disk.links > 1:
            notes.append("the file had other hard links; they keep the old text")
        return tuple(notes)

    async def _on_disk(self, plan: Plan) -> Plan:
        place = plan.ground.place
        try:
            await _to_the_end(lambda: self._write(plan))
        except ToolRefusal as problem:
            if problem.error.code != "hash_mismatch":
                raise
            raise mismatch(await self._ground(place), plan.edit, plan.base) from problem
        self._note(plan)
        if plan.created:
            self.created.append(place.real)
        return plan

    def _write(self, plan: Plan) -> None:
        """Runs in a thread."""
        place, disk = plan.ground.place, plan.ground.disk
        folder = place.real.parent
        swap.require_free(place, self._environment)
        if folder not in self._swept:
            atomic.remove_leftovers(folder)
            self._swept.add(folder)
        data = plan.ground.bom + plan.made.text.encode()
        if disk is None:
            atomic.create_file(place, data)
        else:
            atomic.replace_file(disk, data)

    async def _in_buffer(self, plan: Plan, label: str) -> Receipt:
        """Propose the change. Until its receipt is there the file takes no other one."""
        real = plan.ground.place.real
        change = Change(secrets.token_hex(8), real, plan.ground.hash, plan.made.hunks, label)
        self._unsettled[real] = _Pending(change.id, plan)
        receipt = await self._editor.apply(change)
        if receipt.status != "unknown":
            self._unsettled.pop(real, None)
        return receipt

    async def _applied(self, plan: Plan, receipt: Receipt) -> Plan:
        """The plan as it was carried out; an editor may have changed the text further in the same moment."""
        if receipt.hash not in ("", plan.hash):
            note = "the buffer holds more than this edit by now: read the file again"
            plan = structs.replace(plan, hash=receipt.hash, seen=False, notes=(*plan.notes, note))
            ground = await self._ground(plan.ground.place)
            if ground.hash != receipt.hash:
                return plan
            plan = structs.replace(plan, made=edited(plan.ground.text, ground.text))
        self._note(plan)
        return plan

    def _settle(self, ground: Ground) -> None:
        pending = self._unsettled.pop(ground.place.real, None)
        if pending is not None and pending.plan.hash == ground.hash:
            self._note(pending.plan)

    def _note(self, plan: Plan) -> None:
        self._ledger.note_edit(plan.ground.place.real, plan.step(), plan.made.text, seen=plan.seen)

    def _too_large(self, place: Place) -> ToolRefusal:
        return ToolRefusal("too_large", f"{place.name} is or would be over the limit of {self._most_bytes:,} bytes.")


def _why_not(ground: Ground) -> str:
    try:
        require_editable(ground)
    except ToolRefusal as problem:
        return problem.error.code
    return ""


async def _to_the_end(work: Callable[[], T]) -> T:
    """`work` in a thread, begun at once and never left behind: who cancels it gets what it did."""
    future = asyncio.get_running_loop().run_in_executor(None, work)
    while True:
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if future.cancelled():
                raise
