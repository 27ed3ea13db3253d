from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from smith_server.core.cancel import CancelToken
from smith_server.core.messages import Call, Message, ToolSpec, Usage
from smith_server.core.ports import Answer, Done, Question, Request, Verdict, Word
from smith_server.core.scope import TurnInput
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.runtime.unattended import NoEditor


class FakeView:
    async def next(self, messages: Sequence[Message]) -> Request:
        return Request("fake-model", "system", tuple(messages), (ToolSpec("echo", "say it"),))

    def answered(self, usage: Usage) -> None:
        return None

    def used(self) -> Usage:
        return Usage()


class FakeInbox:
    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    def take(self) -> Sequence[Word]:
        texts, self.texts = self.texts, []
        return [Word(text) for text in texts]


class FakeApprover:
    def __init__(self, answer: Answer | None = None) -> None:
        self.answer = answer or Answer("yes")
        self.asked: list[Question] = []

    async def ask(self, question: Question, token: CancelToken) -> Answer:
        self.asked.append(question)
        return self.answer


class FakePolicy:
    def __init__(self, decision: str = "allow") -> None:
        self.decision = decision

    def judge(self, name: str, effect: Effect, args: Any) -> Verdict:
        return Verdict(self.decision, "a rule")


class EchoArgs(Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(description="what to say")]


class FakeTool:
    """Says back its text, or does what `action` does."""

    text = "say it"
    args = EchoArgs

    def __init__(self, name: str = "echo", effect: Effect = Effect.READ, action: Any = None) -> None:
        self.name = name
        self.effect = effect
        self.action = action
        self.ran: list[str] = []

    async def preview(self, args: EchoArgs, context: ToolContext) -> Preview:
        return Preview(f"say {args.text}", "a diff")

    async def run(self, args: EchoArgs, context: ToolContext) -> ToolResult:
        self.ran.append(args.text)
        if self.action is not None:
            return await self.action(args, context)
        return ToolResult(args.text)


class NoRetries:
    def begin(self) -> None:
        return None

    def after(self, answer: object) -> None:
        return None


async def stored() -> None:
    return None


def turn_input(provider: Any = None, tools: Sequence[Any] = (), **changes: Any) -> TurnInput:
    turn = TurnInput(
        provider=provider,
        view=FakeView(),
        tools={tool.name: tool for tool in tools},
        policy=FakePolicy(),
        approver=FakeApprover(),
        editor=NoEditor(),
        inbox=FakeInbox(),
        retries=NoRetries(),
        stored=stored,
        token=CancelToken(),
        cwd=Path("/nowhere"),
    )
    return msgspec.structs.replace(turn, **changes)


def call(name: str = "echo", arguments: str = '{"text": "hi"}', id: str = "c1") -> Call:
    return Call(id, name, arguments)


def calls(*made: Call) -> Done:
    return Done(made, "tool_use")
