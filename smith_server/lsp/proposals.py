"""Guarded edits on their way: sent, perhaps deferred, answered once, or given up at a deadline.

Nobody here believes that an edit was applied without the editor's receipt.
"""

import asyncio
from collections.abc import Callable

import msgspec

from smith_server.core.editor import Receipt
from smith_server.core.errors import AgentFailure
from smith_server.lsp import protocol
from smith_server.lsp.link import ANSWER_SECONDS, Link
from smith_server.lsp.protocol import ApplyEdit, EditReceipt, WithdrawEdit

EDIT_SECONDS = 30.0
GRACE_SECONDS = 2.0
CANCEL_SECONDS = 0.8
_STATUSES = frozenset({"applied", "stale", "expired", "read_only", "gone", "refused", "failed", "withdrawn"})

Waiting = Callable[[str], None]
Late = Callable[[str, Receipt], None]


class Proposals:
    """The edits of one connection that have no receipt yet."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._open: dict[str, asyncio.Future[EditReceipt]] = {}
        self._unknown: dict[str, Late] = {}

    async def propose(self, edit: ApplyEdit, waiting: Waiting, late: Late) -> Receipt:
        """Send `edit` and wait for what became of it; `waiting` is told why when that takes time.

        When the wait is cancelled, the edit is withdrawn and its last word awaited for a moment.
        After `unknown`, `late` gets the receipt if it still comes.
        """
        done: asyncio.Future[EditReceipt] = asyncio.get_running_loop().create_future()
        self._open[edit.change] = done
        limit = EDIT_SECONDS + GRACE_SECONDS
        answer = asyncio.ensure_future(self._link.ask(protocol.APPLY_EDIT, edit, EditReceipt, limit))
        try:
            async with asyncio.timeout(limit):
                return _receipt(await self._answered(answer, done, waiting))
        except (TimeoutError, AgentFailure) as problem:
            return self._give_up(edit.change, str(problem) or "the editor did not answer", late)
        except asyncio.CancelledError:
            return await self._withdraw(edit.change, answer, done, late)
        finally:
            if edit.change not in self._unknown:
                del self._open[edit.change]

    def edit_done(self, receipt: EditReceipt) -> None:
        """Take the receipt of a deferred edit, in time or late."""
        done = self._open.get(receipt.change)
        if done is not None and not done.done():
            done.set_result(receipt)
        if receipt.change in self._unknown:
            self._open.pop(receipt.change, None)
            self._unknown.pop(receipt.change)(receipt.change, _receipt(receipt))

    async def _answered(
        self, answer: asyncio.Future[EditReceipt], done: asyncio.Future[EditReceipt], waiting: Waiting
    ) -> EditReceipt:
        await asyncio.wait([answer], timeout=ANSWER_SECONDS)
        if not answer.done():
            waiting("the editor is in the middle of a command and waits for you")
        # Shielded: a cancel of this wait must leave both to the last word.
        first = await asyncio.shield(answer)
        if first.status != "deferred":
            return first
        waiting(first.reason or first.message or "the editor is busy")
        return await asyncio.shield(done)

    async def _withdraw(
        self, change: str, answer: asyncio.Future[EditReceipt], done: asyncio.Future[EditReceipt], late: Late
    ) -> Receipt:
        self._link.notify(protocol.WITHDRAW_EDIT, WithdrawEdit(change))
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                first = await asyncio.shield(answer)
                last = await done if first.status == "deferred" else first
        except (TimeoutError, AgentFailure, asyncio.CancelledError):
            return self._give_up(change, "cancelled before the editor answered", late)
        return _receipt(last)

    def _give_up(self, change: str, message: str, late: Late) -> Receipt:
        self._unknown[change] = late
        return Receipt("unknown", message=message)


def _receipt(answer: EditReceipt) -> Receipt:
    """The editor's answer in the core's words; a status that nobody knows is a failure."""
    current = str((answer.current or {}).get("text", ""))
    status = answer.status if answer.status in _STATUSES else "failed"
    return msgspec.convert(
        {"status": status, "hash": answer.hash, "message": answer.message, "current": current}, Receipt
    )
