"""Protocols for what comes from outside the core or is swapped in tests.

The editor has a module of its own (`core/editor.py`), and so have tools (`core/tool.py`).
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import AgentError
from smith_server.core.events import Event
from smith_server.core.messages import Message, Part, StopReason, ToolSpec, Usage
from smith_server.core.todos import Todo
from smith_server.core.tool import Effect, ToolContext, ToolResult

Emit = Callable[[Event], None]

Chance = Callable[[], float]
"""Where chance comes from: a number from 0 up to, not including, 1, another one with each call."""


def no_chance() -> float:
    """A `Chance` that leaves nothing to it."""
    return 0.0


class Request(Struct, frozen=True):
    """One question to a model. `images`: it takes pictures."""

    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None
    temperature: float | None = None
    stream: bool = True
    images: bool = True


class TextDelta(Struct, frozen=True):
    """More text for the person."""

    text: str


class ThinkingDelta(Struct, frozen=True):
    """More reasoning."""

    text: str


class Done(Struct, frozen=True):
    """The whole answer: its parts in order, deltas included, why it ended and what it used.

    `dropped` calls are not among the parts, since the end of the answer cut or forbade them. `cost` is in
    US dollars, where the provider tells it. `paused`: the provider would say more if it were asked to.
    """

    parts: tuple[Part, ...]
    stop: StopReason
    usage: Usage | None = None
    dropped: int = 0
    cost: float | None = None
    paused: bool = False


class Failed(Struct, frozen=True):
    """The answer broke off. `parts` may be kept of it (no calls); `retry_after` is in seconds, `cost` as in `Done`."""

    error: AgentError
    parts: tuple[Part, ...] = ()
    usage: Usage | None = None
    retry_after: float | None = None
    cost: float | None = None


Delta = TextDelta | ThinkingDelta | Done | Failed


class Provider(Protocol):
    """A model behind some wire."""

    @property
    def name(self) -> str: ...

    def stream(self, request: Request, token: CancelToken) -> AsyncIterator[Delta]:
        """One attempt. Yields pieces; the last one is `Done` or `Failed`.

        Raises nothing but cancellation; ends soon after `token` is requested.
        """
        ...


class Again(Protocol):
    """Another attempt at a request: its number, after how many seconds, in which layer, because of what."""

    @property
    def layer(self) -> Literal["transport", "empty"]: ...

    @property
    def attempt(self) -> int: ...

    @property
    def delay(self) -> float: ...

    @property
    def error(self) -> AgentError: ...

    @property
    def discard_output(self) -> bool: ...


class Retries(Protocol):
    """Decides whether a request is made again; one for each prompt."""

    def begin(self) -> None:
        """A new request of the same prompt."""
        ...

    def after(self, answer: Done | Failed) -> Again | None:
        """The attempt to make after `answer`, or None when the answer stands."""
        ...


class View(Protocol):
    """Makes the next request out of the conversation."""

    async def next(self, messages: Sequence[Message]) -> Request:
        """The next request; waits when something has to be summed up first.

        Raises `Cancelled`, and a `budget_exhausted` failure `context_exhausted` when it cannot be made
        small enough.
        """
        ...

    def answered(self, usage: Usage) -> None:
        """What the last request really cost, as far as the provider said."""
        ...

    def used(self) -> Usage:
        """What making requests has cost since this was asked last."""
        ...


class Verdict(Struct, frozen=True):
    """What policy says of a call, and the rule or setting that decided."""

    decision: Literal["allow", "ask", "deny"]
    reason: str = ""


class Policy(Protocol):
    """Decides about a call before anybody is asked."""

    def judge(self, name: str, effect: Effect, args: Any) -> Verdict: ...


class Question(Struct, frozen=True):
    """What a person is asked before a call runs."""

    call_id: str
    name: str
    title: str
    reason: str = ""
    diff: str = ""
    arguments: dict[str, Any] = {}
    saves: tuple[str, ...] = ()


class Answer(Struct, frozen=True):
    """What they said. `nobody` is set when there was nobody to ask."""

    decision: Literal["yes", "no", "always", "quit"]
    feedback: str = ""
    nobody: bool = False


class Approver(Protocol):
    """Asks a person. Ends with `Cancelled` when `token` is requested first."""

    async def ask(self, question: Question, token: CancelToken) -> Answer: ...


class Stored(Protocol):
    """Waits until everything emitted so far is in the store, or the store was given up on."""

    async def __call__(self) -> None: ...


class Word(Struct, frozen=True):
    """Something for a running turn: what a person said, or `aside` a note of smith, which faces do not show."""

    text: str
    aside: bool = False


class Inbox(Protocol):
    """What a running turn is told between two requests."""

    def take(self) -> Sequence[Word]: ...


class Entry(Struct, frozen=True):
    """One stored text: its name and what its first line says."""

    key: str
    label: str


class Scratchpad(Protocol):
    """Texts that belong to one conversation, by key."""

    async def put(self, key: str, value: str) -> None: ...

    async def get(self, key: str) -> str | None: ...

    async def list(self, prefix: str) -> Sequence[Entry]: ...

    async def delete(self, key: str) -> bool: ...


class Memory(Protocol):
    """Texts that belong to a project, shared by all its conversations and checkouts."""

    async def get(self, key: str) -> str | None: ...

    async def list(self) -> Sequence[Entry]: ...

    async def upsert(self, key: str, content: str) -> None: ...

    async def delete(self, key: str) -> bool: ...


class Todos(Protocol):
    """The plan of one actor."""

    async def put(self, todos: Sequence[Todo]) -> None:
        """Replace the whole list, and let people see it."""
        ...


class Job(Struct, frozen=True):
    """Work for a child: whom it is for, what to do, what the person asked for, how to go about it, where to look."""

    role: str
    task: str
    request_summary: str = ""
    instructions: str = ""
    files: tuple[str, ...] = ()


class Dispatcher(Protocol):
    """Runs a job in a child and answers with its report.

    Raises `policy` failures (`dispatch_denied`) for a role that may not be asked. What the child could
    not do is a report, not an error.
    """

    async def dispatch(self, job: Job, context: ToolContext) -> ToolResult: ...
