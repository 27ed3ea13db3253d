"""What a conversation shows, as a fold over its events. Draws nothing and calls nobody.

Blocks are changed in place, so that a delta costs the same however long the conversation is.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from smith_server.core import events as on
from smith_server.core import news
from smith_server.core.events import Envelope
from smith_server.core.messages import AssistantMessage, Usage, UserMessage
from smith_server.core.todos import Todo
from smith_server.tui.lines import Lines
from smith_server.tui.tables import aligned

PROGRESS_CHARACTERS = 16384

Status = Literal["idle", "thinking", "streaming", "tool", "waiting", "cancelling", "error"]


class Block(Struct, eq=False):
    """One thing that is shown. `settled` when it will not change any more."""

    settled: bool = True


class Prompt(Block, eq=False):
    """What the person said; a `command` never reached the model."""

    text: str = ""
    command: bool = False


class Notice(Block, eq=False):
    """Something for the person that is no part of the conversation; a `quiet` one stands among the calls."""

    level: str = "info"
    text: str = ""


class Words(Block, eq=False):
    """Text of the model; settled when something else follows it."""

    message: str = ""
    body: Lines = field(default_factory=Lines)


class Thinking(Words, eq=False):
    """Reasoning of the model."""


class Call(Block, eq=False):
    """A tool call: what it is, what came out while it ran, what children did `below` it, what became of it."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    title: str = ""
    status: Literal["running", "ok", "failed", "lost"] = "running"
    output: str = ""
    below: str = ""
    summary: str = ""
    content: str = ""
    diff: str = ""
    duration_ms: int = 0


class Approval(Block, eq=False):
    """A question of the agent; `decision` is "" while it waits."""

    event: on.ApprovalAsked = field(default_factory=lambda: on.ApprovalAsked("", "", "", ""))
    role: str = ""
    decision: str = ""


class Conversation:
    """The state of one conversation: what is shown, what runs, what waits."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.asking: list[Approval] = []
        self.queue: list[tuple[str, str]] = []
        self.returned: list[str] = []
        self.status: Status = "idle"
        self.running = False
        self.note = ""
        self.model = ""
        self.usage = Usage()
        self.context = 0
        self.cost: float | None = None
        self.removed: list[Block] = []
        self.title = ""
        self.holder: dict[str, Any] = {}
        self.plan: tuple[Todo, ...] = ()
        self._compacting: Notice | None = None
        self._messages: dict[str, list[Words]] = {}
        self._open: list[str] = []
        self._calls: dict[str, Call] = {}
        self._jobs: dict[str, Call] = {}
        self._last: Block | None = None
        self._prompt: str | None = None
        self._unsent = ""
        self._told: set[str] = set()

    def take(self, envelope: Envelope) -> None:
        """Take an event in; one of a child changes only what a person should see of it."""
        if envelope.job:
            self._of_child(envelope)
            return
        if handle := _HANDLERS.get(type(envelope.event)):
            handle(self, envelope.event)
        level, text = news.told(envelope.event)
        if text:
            self._tell(level, text)

    def answer_command(self, line: str, text: str, level: str = "info") -> None:
        """Show a command of the person and what it said."""
        self._add(Prompt(text=line, command=True))
        self.notice(level, text)

    def notice(self, level: str, text: str) -> None:
        """Say something to the person, once."""
        last = self._last
        # A failure may come as an error and again as the end of the turn.
        if not (isinstance(last, Notice) and last.text == text):
            self._add(Notice(level=level, text=text))

    def _tell(self, level: str, text: str) -> None:
        """The same for an event: several lines that were told before are told in one."""
        is_last = isinstance(self._last, Notice) and self._last.text == text
        self.notice(level, news.again(text) if text in self._told and not is_last else text)
        if "\n" in text:
            self._told.add(text)

    def _of_child(self, envelope: Envelope) -> None:
        call = self._jobs.get(envelope.parent) if envelope.parent else self._calls.get(envelope.call)
        if call is not None:
            self._jobs[envelope.job] = call
        match envelope.event:
            case on.ApprovalAsked() as event:
                self._asked(event, envelope.role)
            case on.ApprovalAnswered() as event:
                self._answered(event)
            case on.EditWaiting() as event:
                self._edit_waits(event)
            case on.CallStarted() as event:
                if call is not None:
                    line = f"{envelope.role or 'child'}: {event.name} {event.title}".rstrip() + "\n"
                    call.output, call.below = _tail(call.output + line), _tail(call.below + line)

    def _add(self, block: Block) -> None:
        self._end_words()
        self.blocks.append(block)
        self._last = block

    def _end_words(self) -> None:
        if isinstance(self._last, Words):
            self._last.settled = True

    def _grow(self, kind: type[Words], message: str, text: str) -> None:
        last = self._last
        if type(last) is not kind or last.message != message:
            self._add(last := kind(settled=False, message=message))
            self._messages.setdefault(message, []).append(last)
            self._open.append(message)
        last.body.append(text)

    def _opened(self, event: on.SessionStarted) -> None:
        self.title, self.holder = event.title, event.holder

    def _changed(self, event: on.ConversationChanged) -> None:
        match event.change:
            case "renamed":
                self.title = event.title
            case "released":
                self.holder = {}

    def _turn_started(self, event: on.TurnStarted) -> None:
        self._unqueue(event.queued, "" if event.queued else event.text)
        self.running, self.status, self.usage = True, "thinking", Usage()
        self._prompt = self._unsent = event.text
        self._add(Prompt(text=event.text))

    def _queued(self, event: on.PromptQueued) -> None:
        self.queue.append((event.id, event.text))

    def _edited(self, event: on.PromptEdited) -> None:
        self.queue = [(name, event.text if name == event.id else text) for name, text in self.queue]

    def _taken(self, event: on.PromptTaken) -> None:
        self._unqueue(event.id)

    def _dropped(self, event: on.PromptDropped) -> None:
        self._unqueue(event.id)
        self.returned.append(event.text)

    def _unqueue(self, name: str, text: str = "") -> None:
        """Take a prompt out of the line, by its name, or the first one of that text."""
        found = next((row for row in self.queue if row[0] == name or (text and row[1] == text)), None)
        if found is not None:
            self.queue.remove(found)

    def _request_started(self, event: on.RequestStarted) -> None:
        self.model = event.model or self.model
        self.status, self.note = "thinking", ""
        self._open, self._unsent = [], ""

    def _retried(self, event: on.RequestRetried) -> None:
        self.note = news.retried(event)
        if not event.discard_output:
            return
        gone = [words for name in self._open for words in self._messages.pop(name, [])]
        self.removed += gone
        self.blocks = [block for block in self.blocks if block not in gone]
        self._last = None if self._last in gone else self._last

    def _reasoned(self, event: on.ReasoningDelta) -> None:
        self.status = "thinking"
        self._grow(Thinking, event.message, event.text)

    def _said(self, event: on.OutputDelta) -> None:
        self.status = "streaming"
        self._grow(Words, event.message, event.text)

    def _message_added(self, event: on.MessageAdded) -> None:
        """Deltas have shown the text already; where some were missed the whole message puts it right."""
        message = event.message
        if isinstance(message, UserMessage):
            self._heard(message)
        if not isinstance(message, AssistantMessage):
            return
        shown = [words for words in self._messages.get(message.id, []) if type(words) is Words]
        if not shown and message.text:
            self._grow(Words, message.id, message.text)
        elif len(shown) == 1 and message.text and shown[0].body.text != message.text:
            shown[0].body = Lines(message.text)
        for words in self._messages.get(message.id, []):
            words.body = words.body if isinstance(words, Thinking) else aligned(words.body)

    def _heard(self, message: UserMessage) -> None:
        """The prompt itself was shown when its turn began; what else was said comes in the middle of the turn."""
        if message.text == self._prompt:
            self._prompt = None
        elif message.text and not message.aside:
            self._add(Prompt(text=message.text))

    def _call_started(self, event: on.CallStarted) -> None:
        self.status = "tool"
        call = Call(False, event.call_id, event.name, event.arguments, event.title)
        self._calls[event.call_id] = call
        self._add(call)

    def _call_progressed(self, event: on.CallProgressed) -> None:
        if call := self._calls.get(event.call_id):
            call.output = _tail(call.output + event.text)

    def _call_finished(self, event: on.CallFinished) -> None:
        if event.call_id not in self._calls:
            self._call_started(on.CallStarted(event.call_id, event.name, ""))
        call = self._calls[event.call_id]
        call.status = "ok" if event.ok else "failed"
        call.summary, call.content, call.diff = event.summary, event.content, event.diff
        call.duration_ms, call.settled = event.duration_ms, True
        self.note = ""
        self.status = "waiting" if self.asking else "thinking"

    def _asked(self, event: on.ApprovalAsked, role: str = "") -> None:
        self.status = "waiting"
        approval = Approval(False, event, role)
        self.asking.append(approval)
        self._add(approval)

    def _answered(self, event: on.ApprovalAnswered) -> None:
        for approval in [each for each in self.asking if each.event.id == event.id]:
            _settle(approval, event.decision)
            self.asking.remove(approval)
        self.status = "waiting" if self.asking else "tool"

    def _edit_waits(self, event: on.EditWaiting) -> None:
        self.note = f"an edit of {event.path} waits for you: {event.reason}"

    def _happened(self, event: on.Event) -> None:
        self.notice("quiet", news.said(event))

    def _compaction_started(self, event: on.CompactionStarted) -> None:
        self._compacting = Notice(False, "quiet", news.COMPACTING)
        self._add(self._compacting)

    def _compacted(self, event: on.ContextCompacted) -> None:
        if self._compacting is None:
            self._happened(event)
        else:
            self._end_compacting(news.said(event))

    def _end_compacting(self, text: str) -> None:
        if self._compacting is not None:
            self._compacting.text, self._compacting.settled = text, True
            self._compacting = None

    def _planned(self, event: on.TodosUpdated) -> None:
        if event.todos != self.plan:
            self.plan = event.todos
            self.notice("quiet", news.plan(event.todos))

    def _used(self, event: on.UsageUpdated) -> None:
        self.usage, self.context, self.cost = event.turn_usage, event.context, event.cost

    def _cancelling(self, event: on.TurnCancelRequested) -> None:
        self.status = "cancelling"

    def _end(self, status: Status, usage: Usage | None = None) -> None:
        self._end_words()
        self._end_compacting(news.NOT_COMPACTED)
        for call in self._calls.values():
            if call.status == "running":
                call.status, call.settled = "lost", True
        for approval in self.asking:
            _settle(approval, "withdrawn")
        self.asking, self._calls, self._jobs, self._messages, self._open = [], {}, {}, {}, []
        self.running, self.status, self.note = False, status, ""
        self.usage = usage or self.usage

    def _stopped(self, event: on.SessionStopped) -> None:
        self._end("idle")

    def _session_failed(self, event: on.SessionFailed) -> None:
        self._end("error")

    def _completed(self, event: on.TurnCompleted) -> None:
        self._end("idle", event.usage)

    def _cancelled(self, event: on.TurnCancelled) -> None:
        self._end("idle", event.usage)

    def _failed(self, event: on.TurnFailed) -> None:
        if self._unsent and not self.holder:
            self.returned.append(self._unsent)
        self._end("error", event.usage)


def folded(envelopes: Sequence[Envelope]) -> Conversation:
    """The conversation that these events tell of."""
    conversation = Conversation()
    for envelope in envelopes:
        conversation.take(envelope)
    return conversation


def _settle(approval: Approval, decision: str) -> None:
    approval.decision, approval.settled = decision, True


def _tail(text: str) -> str:
    return text[-PROGRESS_CHARACTERS:]


_HANDLERS: dict[type[on.Event], Callable[[Conversation, Any], None]] = {
    on.SessionStarted: Conversation._opened,
    on.ConversationChanged: Conversation._changed,
    on.TurnStarted: Conversation._turn_started,
    on.PromptQueued: Conversation._queued,
    on.PromptEdited: Conversation._edited,
    on.PromptTaken: Conversation._taken,
    on.PromptDropped: Conversation._dropped,
    on.RequestStarted: Conversation._request_started,
    on.RequestRetried: Conversation._retried,
    on.ReasoningDelta: Conversation._reasoned,
    on.OutputDelta: Conversation._said,
    on.MessageAdded: Conversation._message_added,
    on.CallStarted: Conversation._call_started,
    on.CallProgressed: Conversation._call_progressed,
    on.CallFinished: Conversation._call_finished,
    on.ApprovalAsked: Conversation._asked,
    on.ApprovalAnswered: Conversation._answered,
    on.EditWaiting: Conversation._edit_waits,
    on.ResponseContinued: Conversation._happened,
    on.CompactionStarted: Conversation._compaction_started,
    on.ContextCompacted: Conversation._compacted,
    on.JobStarted: Conversation._happened,
    on.JobEnded: Conversation._happened,
    on.TodosUpdated: Conversation._planned,
    on.UsageUpdated: Conversation._used,
    on.TurnCancelRequested: Conversation._cancelling,
    on.SessionStopped: Conversation._stopped,
    on.SessionFailed: Conversation._session_failed,
    on.TurnCompleted: Conversation._completed,
    on.TurnCancelled: Conversation._cancelled,
    on.TurnFailed: Conversation._failed,
}
