"""Everything that an observer can learn, as one tagged union.

What a person sees is a fold over these events, and so is what is stored. The tag is the name on
the wire. Each kind says when it may occur. A turn ends with exactly one of `TurnCompleted`,
`TurnCancelled`, `TurnFailed`; nothing of that turn follows it.
"""

from typing import Any, Literal

from msgspec import Struct

from smith_server.core.compaction import Compaction
from smith_server.core.errors import AgentError
from smith_server.core.messages import Message, Usage
from smith_server.core.todos import Todo


class Event(Struct, frozen=True, tag_field="kind"):
    """Base of all events."""


class SessionStarted(Event, frozen=True, tag="session_started"):
    """A conversation was opened in this process; first event of it.

    With a `holder` another process writes it: it is read-only here, and what is added there follows as events.
    """

    root: str
    resumed: bool = False
    title: str = ""
    holder: dict[str, Any] = {}


class SessionStopped(Event, frozen=True, tag="session_stopped"):
    """The conversation was closed; last event of it."""

    reason: str = ""


class SessionFailed(Event, frozen=True, tag="session_failed"):
    """The conversation cannot go on in this process; last event of it."""

    error: AgentError


class ConfigChanged(Event, frozen=True, tag="config_changed"):
    """A setting was changed at run time; it holds from the next turn on."""

    path: str


class ConversationChanged(Event, frozen=True, tag="conversation_changed"):
    """What is stored of a conversation changed otherwise than by a turn.

    `rewritten`: messages were edited or removed, so that all has to be loaded again. `renamed` and `moved` tell the
    new title and root. `released`: nobody else writes it any more. `deleted`: it is gone.
    """

    change: Literal["rewritten", "renamed", "moved", "released", "deleted"]
    title: str = ""
    root: str = ""


class PromptQueued(Event, frozen=True, tag="prompt_queued"):
    """A prompt came while a turn ran and waits in line; one that `steers` waits for the next request of that turn.

    `record` is what else came with it.
    """

    id: str
    text: str
    steers: bool = False
    record: dict[str, Any] = {}


class PromptEdited(Event, frozen=True, tag="prompt_edited"):
    """A prompt that waits has another text."""

    id: str
    text: str


class PromptTaken(Event, frozen=True, tag="prompt_taken"):
    """Words that waited are part of the running turn from now on; the message that they became follows."""

    id: str


class PromptDropped(Event, frozen=True, tag="prompt_dropped"):
    """A prompt that waited will not run; its text goes back to the person."""

    id: str
    text: str


class TurnStarted(Event, frozen=True, tag="turn_started"):
    """First event of a turn; `queued` is the id under which its prompt waited, if it did."""

    text: str
    queued: str = ""


class RequestStarted(Event, frozen=True, tag="llm_request_started"):
    """A request goes out to the model."""

    model: str
    provider: str = ""
    attempt: int = 1


class RequestFinished(Event, frozen=True, tag="llm_request_finished"):
    """The answer of that request has ended, well or not."""

    usage: Usage = Usage()
    duration_ms: int = 0


class RequestRetried(Event, frozen=True, tag="llm_retry"):
    """A request failed and goes out again after `delay_ms`.

    With `discard_output` what was shown of message `message` is void.
    """

    message: str
    layer: Literal["transport", "empty"]
    attempt: int
    delay_ms: int
    error: AgentError
    discard_output: bool = False


class ResponseContinued(Event, frozen=True, tag="response_continued"):
    """An answer reached the output limit and the model is asked to go on; `attempt` counts within the prompt.

    `dropped`: tool calls of that answer were thrown away, since the limit may have cut them. `paused`: it was
    no limit, the provider stopped in the middle.
    """

    attempt: int
    dropped: bool = False
    paused: bool = False


class ReasoningDelta(Event, frozen=True, tag="llm_reasoning_delta"):
    """More reasoning of message `message`."""

    message: str
    text: str


class OutputDelta(Event, frozen=True, tag="llm_output_delta"):
    """More text of message `message`."""

    message: str
    text: str


class MessageAdded(Event, frozen=True, tag="message_added"):
    """A message is whole and part of the conversation; its text was shown by other events."""

    message: Message


class CallStarted(Event, frozen=True, tag="tool_call_started"):
    """A tool call of the reply is taken up, before it is decoded or asked about.

    `title` is its most telling argument on one line, "" when there is none.
    """

    call_id: str
    name: str
    arguments: str
    title: str = ""


class CallProgressed(Event, frozen=True, tag="tool_call_progress"):
    """Output of a running call, a piece at a time; shown, never stored."""

    call_id: str
    text: str


class CallFinished(Event, frozen=True, tag="tool_call_finished"):
    """The call has its result. `summary` is one line for the person, `diff` a unified diff.

    `mutation` says whether anything may have changed: `none`, `attempted`, or `unknown` when the
    call was ended in the middle.
    """

    call_id: str
    name: str
    ok: bool
    summary: str
    code: str = ""
    content: str = ""
    diff: str = ""
    mutation: str = "none"
    duration_ms: int = 0


class DispatchStarted(Event, frozen=True, tag="dispatch_started"):
    """A child begins to work; the events that carry its id as `job` are its own."""

    child: str
    target_role: str
    task: str


class DispatchFinished(Event, frozen=True, tag="dispatch_finished"):
    """The child has ended with a report, or with the reason why there is none."""

    child: str
    target_role: str
    status: str
    summary: str


class ContextTrimmed(Event, frozen=True, tag="context_trimmed"):
    """The next request leaves out more of the conversation than the one before; sizes in tokens."""

    elided: int
    dropped: int
    estimate: int
    limit: int


class CompactionStarted(Event, frozen=True, tag="compaction_started"):
    """The model is asked to sum up the oldest part of the conversation, to make room; sizes in tokens."""

    estimate: int
    limit: int


class ContextCompacted(Event, frozen=True, tag="context_compacted"):
    """From the next request on less of the conversation is sent; sizes in tokens.

    `steps` say how, see `Compaction`; without any it came to nothing. `covered` messages are summed up,
    `dropped` ones gone. `record` names them, for the store; `usage` is what the summary cost.
    """

    record: Compaction
    steps: tuple[str, ...]
    before: int
    after: int
    covered: int = 0
    dropped: int = 0
    usage: Usage = Usage()


class ApprovalAsked(Event, frozen=True, tag="approval_asked"):
    """A call waits for a person. `saves` are buffers that would be written first."""

    id: str
    call_id: str
    name: str
    title: str
    reason: str = ""
    diff: str = ""
    arguments: dict[str, Any] = {}
    saves: tuple[str, ...] = ()


class ApprovalAnswered(Event, frozen=True, tag="approval_answered"):
    """That question is settled; `withdrawn` when its turn ended first."""

    id: str
    decision: Literal["yes", "no", "always", "quit", "withdrawn"]


class EditWaiting(Event, frozen=True, tag="edit_waiting"):
    """An edit waits for the editor, which is in the middle of a command of the person."""

    path: str
    reason: str


class FilesChanged(Event, frozen=True, tag="files_changed"):
    """A call changed these files on disk; `modified` are open with unsaved text and were left."""

    paths: tuple[str, ...]
    modified: tuple[str, ...] = ()


class JobStarted(Event, frozen=True, tag="job_started"):
    """A command runs in the background from now on."""

    id: str
    command: str


class JobEnded(Event, frozen=True, tag="job_ended"):
    """It is over, maybe after the turn that started it; `exit_code` is None when a signal ended it."""

    id: str
    state: Literal["exited", "timed_out", "killed"]
    exit_code: int | None = None
    seconds: float = 0.0


class TodosUpdated(Event, frozen=True, tag="todos_updated"):
    """The whole plan, each item with `content` and `status`; empty when it is finished or dropped."""

    todos: tuple[Todo, ...]


class UsageUpdated(Event, frozen=True, tag="usage_updated"):
    """Tokens of this turn so far, and the size of the last request.

    `cost` is what the whole conversation has cost, its children included, in US dollars; None when that is not known.
    """

    turn_usage: Usage
    context: int = 0
    cost: float | None = None


class Notice(Event, frozen=True, tag="notice"):
    """One sentence for the person, outside the conversation."""

    level: Literal["info", "warning", "error"]
    text: str


class ErrorReported(Event, frozen=True, tag="agent_error"):
    """Something failed; the turn goes on or says how it ended by its own last event."""

    error: AgentError


class PersistenceFailed(Event, frozen=True, tag="persistence_error"):
    """What follows is held in memory only."""

    error: AgentError


class TurnCancelRequested(Event, frozen=True, tag="turn_cancel_requested"):
    """Somebody asked the running turn to stop."""


class TurnCompleted(Event, frozen=True, tag="turn_completed"):
    """Last event of a turn that came to its end."""

    stop_reason: Literal["completed", "budget_exhausted"] = "completed"
    usage: Usage = Usage()


class TurnCancelled(Event, frozen=True, tag="turn_cancelled"):
    """Last event of a turn that was stopped."""

    usage: Usage = Usage()


class TurnFailed(Event, frozen=True, tag="turn_error"):
    """Last event of a turn that could not go on."""

    error: AgentError
    usage: Usage = Usage()


TurnEnded = TurnCompleted | TurnCancelled | TurnFailed


class Envelope(Struct, frozen=True):
    """An event with where it belongs.

    `turn` is "" outside a turn. `job`, `call` and `role` are set on events of a child: its job,
    the call that started it, and the child's role; `parent` is the job of the child that made the
    call, "" for the conversation itself.
    """

    conversation: str
    turn: str
    event: Event
    job: str = ""
    call: str = ""
    role: str = ""
    parent: str = ""
