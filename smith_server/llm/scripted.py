"""A provider that plays a written script: for demonstrations, tests and benchmarks. It never guesses."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import Kind, agent_error
from smith_server.core.interrupt import wait_for
from smith_server.core.messages import AssistantMessage, Call, Message, Part, StopReason, Usage, UserMessage
from smith_server.core.ports import Delta, Done, Failed, Request
from smith_server.llm import errors
from smith_server.llm.assemble import Assembly, OpenCall, closed_call
from smith_server.llm.linkage import calls_of, problem_of
from smith_server.llm.script import Reply, Script, ScriptedError, Step, filled, load


class ScriptedProvider:
    """Answers the n-th request with the n-th reply. `requests` are those it was asked, refused ones included."""

    def __init__(self, script: Script, name: str = "scripted") -> None:
        self.name = name
        self.requests: list[Request] = []
        self._script = script
        self._next: dict[str, int] = {}

    @classmethod
    def of_file(cls, path: Path) -> "ScriptedProvider":
        """Plays the script in a file. Raises `AgentFailure` (`schema`, `bad_script`)."""
        return cls(load(path))

    async def stream(self, request: Request, token: CancelToken) -> AsyncIterator[Delta]:
        """One reply, as the script says; waits end with `Cancelled` when `token` is requested."""
        self.requests.append(request)
        token.check()
        play = _Play(request)
        for step in self._reply(request):
            if step.wait is not None:
                await wait_for(asyncio.sleep(step.wait), token)
            async for delta in play.spoken(step, token):
                yield delta
            play.take(step)
            if step.error is not None:
                yield play.failed(step.error)
                return
        yield play.done()

    def _reply(self, request: Request) -> Reply:
        if self._script.strict and (problem := strict_problem(request.messages)):
            return _refusal(problem)
        key, replies = self._part(request)
        at = self._next.get(key, 0)
        if self._script.loop and replies:
            at %= len(replies)
        if at >= len(replies):
            return _refusal("the script has no reply left")
        self._next[key] = at + 1
        return replies[at]

    def _part(self, request: Request) -> tuple[str, tuple[Reply, ...]]:
        """The replies for this conversation, by what its first message says."""
        first = request.messages[0] if request.messages else None
        said = first.text if isinstance(first, UserMessage) else ""
        key = next((text for text in self._script.others if text in said), "")
        return key, self._script.others.get(key, self._script.replies)


def strict_problem(messages: tuple[Message, ...]) -> str:
    """What a strict provider would refuse in a transcript; "" when nothing."""
    if not messages or not isinstance(messages[0], UserMessage):
        return "the first message is not from the user"
    for message in messages:
        if isinstance(message, AssistantMessage) and not calls_of(message) and not message.text.strip():
            return f"the message {message.id!r} of the assistant is empty"
    return problem_of(messages)


def _refusal(problem: str) -> Reply:
    return (Step(error=ScriptedError("bad_request", f"The scripted provider refuses: {problem}.")),)


class _Play:
    """One reply while it is given."""

    def __init__(self, request: Request) -> None:
        self._messages = request.messages
        self._assembly = Assembly()
        self._stop: StopReason | None = None
        self._usage: Usage | None = None

    async def spoken(self, step: Step, token: CancelToken) -> AsyncIterator[Delta]:
        """The deltas of a step that says something."""
        said = step.text if step.text is not None else step.thinking
        for piece in step.pieces(filled(said or "", self._messages)):
            await wait_for(asyncio.sleep(step.delay), token)
            self._assembly.say("thinking" if step.text is None else "text", piece)
            for delta in self._assembly.flush():
                yield delta

    def take(self, step: Step) -> None:
        """Note what a step does without saying anything."""
        if step.call is not None:
            call = OpenCall(step.id, step.call)
            arguments = filled(step.arguments, self._messages)
            call.arguments = [arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()]
            self._assembly.call(call)
        self._stop = step.stop or self._stop
        self._usage = step.usage or self._usage

    def done(self) -> Done:
        taken = {call_id for message in self._messages for call_id in calls_of(message)}
        parts: list[Part] = []
        for part in self._assembly.parts("scripted"):
            closed = closed_call(part, taken) if isinstance(part, OpenCall) else part
            if isinstance(closed, Call):
                taken.add(closed.id)
            parts.append(closed)
        natural: StopReason = "tool_use" if self._assembly.output == "call" else "stop"
        return Done(tuple(parts), self._stop or natural, self._usage)

    def failed(self, error: ScriptedError) -> Failed:
        kind: Kind = "protocol" if error.code == "protocol_error" else "transport"
        made = agent_error(kind, error.code, error.message, provider="scripted")
        kept = tuple(part for part in self._assembly.parts("scripted") if not isinstance(part, OpenCall))
        return Failed(errors.judged(made, self._assembly.output), kept, self._usage, error.retry_after)
