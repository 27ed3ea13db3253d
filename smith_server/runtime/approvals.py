"""Questions that wait for a person. The first answer counts; the end of a turn withdraws the rest."""

import asyncio
import secrets
from typing import Literal

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import failure
from smith_server.core.events import ApprovalAnswered, ApprovalAsked
from smith_server.core.interrupt import interrupted_by
from smith_server.core.ports import Answer, Approver, Emit, Question

Decision = Literal["yes", "no", "always", "quit"]
DECISIONS: tuple[Decision, ...] = ("yes", "no", "always", "quit")


class Approvals:
    """The pending questions of one session; an `Approver` for its turns."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._pending: dict[str, asyncio.Future[Answer]] = {}
        self._settled: dict[str, str] = {}
        self._granted: set[str] = set()

    def asked_by(self, emit: Emit) -> Approver:
        """The same questions, asked as events of whoever `emit` belongs to."""
        return _AskedBy(self, emit)

    async def ask(self, question: Question, token: CancelToken, emit: Emit | None = None) -> Answer:
        """Ask and wait; a name that was granted for the session is not asked about again."""
        if question.name in self._granted:
            return Answer("yes")
        name = secrets.token_urlsafe(9)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._pending[name] = future
        (emit or self._emit)(_asked(name, question))
        try:
            async with interrupted_by(token):
                answer = await future
        finally:
            self._withdraw(name)
        if answer.decision == "always":
            self._granted.add(question.name)
        if answer.decision == "quit":
            token.request()
        return answer

    def answer(self, name: str, decision: str, feedback: str = "") -> str:
        """Settle a question: `answered`, or `withdrawn` when its turn ended first.

        Raises a `schema` failure for a decision that does not exist, `policy` failures with the codes
        `already_answered` and `unknown_id`.
        """
        if decision not in DECISIONS:
            raise failure("schema", "bad_decision", f"decision must be one of {', '.join(DECISIONS)}")
        future = self._pending.get(name)
        if future is not None and not future.done():
            future.set_result(Answer(decision, feedback))
            self._settled[name] = "answered"
            self._emit(ApprovalAnswered(id=name, decision=decision))
            return "answered"
        match self._settled.get(name):
            case "withdrawn":
                return "withdrawn"
            case "answered":
                raise failure("policy", "already_answered", "This question was answered before.")
            case _:
                raise failure("policy", "unknown_id", "There is no such question in this conversation.")

    def pending(self, name: str) -> bool:
        """Whether this question still waits."""
        return name in self._pending and not self._pending[name].done()

    def questions(self) -> list[str]:
        """The ids of the questions that wait."""
        return [name for name in self._pending if self.pending(name)]

    def knows(self, name: str) -> bool:
        """Whether this question was asked here."""
        return name in self._pending or name in self._settled

    def _withdraw(self, name: str) -> None:
        del self._pending[name]
        if name not in self._settled:
            self._settled[name] = "withdrawn"
            self._emit(ApprovalAnswered(id=name, decision="withdrawn"))


class _AskedBy:
    """An `Approver` that asks in the name of a child."""

    def __init__(self, approvals: Approvals, emit: Emit) -> None:
        self._approvals = approvals
        self._emit = emit

    async def ask(self, question: Question, token: CancelToken) -> Answer:
        return await self._approvals.ask(question, token, self._emit)


def _asked(name: str, question: Question) -> ApprovalAsked:
    return ApprovalAsked(
        id=name,
        call_id=question.call_id,
        name=question.name,
        title=question.title,
        reason=question.reason,
        diff=question.diff,
        arguments=question.arguments,
        saves=question.saves,
    )
