"""The editor protocol in wire spelling: every method, command and payload of our own.

The only place that knows these names. The reference in `docs/` and the constants of the editor
packages are made from this module by `tools/gen_protocol.py`. LSP's own structures are LSP's.
"""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, field

from smith_server.workspace.lsp_text import Range

VERSION = 1

EVENT = "smith/event"
APPLY_EDIT = "smith/applyEdit"
EDIT_DONE = "smith/editDone"
WITHDRAW_EDIT = "smith/withdrawEdit"
CHANGE_STATE = "smith/changeState"
READ_BUFFER = "smith/readBuffer"
SAVE_BUFFERS = "smith/saveBuffers"
FLUSHED = "smith/flushed"

TURN = "smith.turn"
STEER = "smith.steer"
QUEUE = "smith.queue"
SLASH = "smith.slash"
CANCEL = "smith.cancel"
INSPECT = "smith.inspect"
ANSWER = "smith.answer"
CONVERSATIONS = "smith.conversations"
JOBS = "smith.jobs"
STATUS = "smith.status"
COMPLETE = "smith.complete"
PROMPT = "smith.prompt"

COMMANDS = (TURN, STEER, QUEUE, SLASH, CANCEL, INSPECT, ANSWER, CONVERSATIONS, JOBS, STATUS, COMPLETE, PROMPT)

LANGUAGE = "smith"
"""Language id of documents that are prompts."""


class Diagnostic(Struct, frozen=True, forbid_unknown_fields=False):
    """A problem that the editor shows, in the parts of LSP's `Diagnostic` that are told to a model."""

    range: Range
    message: str
    severity: int | None = None
    code: str | int | None = None
    source: str | None = None


class TurnContext(Struct, frozen=True, forbid_unknown_fields=False):
    """Where the person was when they sent the prompt: file, selection and its text, problems shown there, folder."""

    uri: str = ""
    range: Range | None = None
    selection: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    cwd: str = ""


class TurnArguments(Struct, frozen=True):
    """`smith.turn`: run a prompt. Without `wait` the answer comes at once; without `queue` a busy one refuses.

    `document` is an open document whose text is the prompt, instead of `text`. `role` and `model` hold for this turn
    alone. `mode` and `attachments` are for later versions: what is not empty is refused with the code `not_supported`.
    """

    text: str = ""
    document: str = ""
    conversation: str = ""
    role: str = ""
    mode: str = ""
    model: str = ""
    context: TurnContext = TurnContext()
    attachments: tuple[Any, ...] = ()
    queue: bool = True
    wait: bool = True


class TurnAnswer(Struct, frozen=True, omit_defaults=True):
    """How a turn ended: its last text, stop reason (`completed`, `cancelled`, `error`, `budget_exhausted`), error.

    With `wait: false` the running turn, and `queued`, the id of a prompt that waits behind it.
    """

    conversation: str
    turn: str
    queued: str = ""
    stop_reason: str = ""
    text: str = ""
    error: dict[str, Any] | None = None
    usage: dict[str, float] = {}


class CompleteArguments(Struct, frozen=True):
    """`smith.complete`: what may stand at the `cursor` (characters, not bytes) of a command line."""

    line: str
    cursor: int
    conversation: str = ""


class CompleteAnswer(Struct, frozen=True):
    """Candidates, `{text, detail}` each, for the characters `start` to `end` of the line."""

    start: int
    end: int
    candidates: tuple[dict[str, str], ...] = ()


class PromptArguments(Struct, frozen=True):
    """`smith.prompt`: open an empty prompt document about a place; what is sent from it carries that place."""

    context: TurnContext = TurnContext()


class SteerArguments(Struct, frozen=True):
    """`smith.steer`: words for the running turn, taken between two requests to the model.

    Answered when they are stored, with the `id` under which they wait. Without a running turn they are the next prompt.
    """

    text: str
    conversation: str = ""


class QueueArguments(Struct, frozen=True):
    """`smith.queue`: what waits in a conversation. `list` it, `edit` one (`id`, `text`), or `drop` one.

    Answered with `{conversation, prompts: [{id, text, steers}]}`; `drop` gives the `text` back as well.
    """

    op: str
    conversation: str = ""
    id: str = ""
    text: str = ""


class SlashArguments(Struct, frozen=True):
    """`smith.slash`: one command line that begins with `/`."""

    line: str
    conversation: str = ""


class SlashAnswer(Struct, frozen=True, omit_defaults=True):
    """What a command line did: text to show, data, or a page for a pager."""

    ok: bool
    text: str = ""
    data: dict[str, Any] = {}
    ui: dict[str, str] = {}
    error: dict[str, Any] | None = None


class CancelArguments(Struct, frozen=True):
    """`smith.cancel`: stop the running turn, or with `job` one child alone; answered when everything has stopped."""

    conversation: str = ""
    turn: str = ""
    job: str = ""


class CancelAnswer(Struct, frozen=True):
    """What the stop ended: calls closed without running, commands killed, edits applied in this turn,
    edits and prompts dropped, edits whose fate is unknown."""

    cancelled: bool
    closed: tuple[str, ...] = ()
    killed: tuple[str, ...] = ()
    applied: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


Limit = Annotated[int, Meta(ge=1, le=1000)]
Cursor = Annotated[int, Meta(ge=0, le=1 << 62)]


class InspectArguments(Struct, frozen=True):
    """`smith.inspect`: the stored messages of a conversation.

    `list` gives them, newest page first, of the conversation itself or of the child `job`: `{messages, jobs, before}`,
    each message with `hash` and `size` (characters). `edit` gives `message` the text `text`, `delete` removes it with
    what belongs to it; both are refused while a turn runs (policy/`turn_active`) and when `expect` is not the hash of
    the message (persistence/`changed`). `request` is the exact next request, with the prompt `text` if there is one:
    `{provider, request, parts: [{part, size, tokens}], tokens, ceiling, elided, dropped}`; with `is_compacted_first`
    it is so large that room is made before it is sent.
    """

    op: str = "list"
    conversation: str = ""
    message: str = ""
    text: str = ""
    expect: str = ""
    job: str = ""
    before: str = ""
    limit: Limit = 50


class AnswerArguments(Struct, frozen=True):
    """`smith.answer`: `decision` is `yes`, `no`, `always` or `quit`; the first answer counts."""

    id: str
    decision: str
    feedback: str = ""


class ConversationsArguments(Struct, frozen=True):
    """`smith.conversations`: `list` those of the project (`all`: of every project), last used first; `next` of the
    answer is the `cursor` of the next page.

    `new` begins one. `load` opens one and gives its newest page as events; `page` gives the one in front of the message
    `before`. Both answer `{conversation, root, title, events, busy, seq, before?, holder?}`, where `seq` is the number
    of the last event that is part of it. With `holder` another process writes it: it is read-only here, and follows.
    `take_over` and `fork` (up to the message `message`) answer like `load`. `here` moves the conversation to the root
    of the client. `rename` gives it the `title`, `delete` removes it for good. `root` is a folder of the client.
    """

    op: str
    conversation: str = ""
    before: str = ""
    limit: Limit = 50
    cursor: Cursor | None = None
    all: bool = False
    title: str = ""
    message: str = ""
    here: bool = False
    root: str = ""


class JobsArguments(Struct, frozen=True):
    """`smith.jobs`: `list` the commands in the background, `output` of one from byte `since` on, `kill` one."""

    op: str = "list"
    conversation: str = ""
    id: str = ""
    since: int = 0


class StatusArguments(Struct, frozen=True):
    """`smith.status`: what a status line needs, and the kept events after number `since`.

    The answer is `{seq, sessions: [SessionStatus], attention: [events], events?, resync?}`: `attention` are the
    questions that wait for a person, in whatever conversation; with `resync` some events after `since` are not kept any
    more, and the conversations have to be loaded.
    """

    since: int | UnsetType = UNSET


class SessionStatus(Struct, frozen=True, omit_defaults=True):
    """An open conversation. `state` is `idle`, `thinking`, `streaming`, `tool`, `cancelling` or `error`.

    `usage` are the tokens of its last turn, `context` those of its last request, of `ceiling` at most (0: not known
    yet). `cost` is what it has cost in US dollars, absent where it is not known. `queue` is what waits, `attention`
    the ids of questions, `holder` the process that writes it when that is another one.
    """

    conversation: str
    root: str
    busy: bool
    turn: str
    role: str
    mode: str
    state: str
    model: str = ""
    provider: str = ""
    title: str = ""
    usage: dict[str, float] = {}
    context: int = 0
    ceiling: int = 0
    cost: float | None = None
    queue: tuple[dict[str, Any], ...] = ()
    attention: tuple[str, ...] = ()
    holder: dict[str, Any] | None = None


class TextEdit(Struct, frozen=True):
    """Replace the text of `range`, which reads `old`, by `new_text`."""

    range: Range
    new_text: str = field(name="newText")
    old: str


class ApplyEdit(Struct, frozen=True):
    """`smith/applyEdit`, server to client: all edits as one undo step, or none. `deadline` is Unix ms of the client."""

    change: str
    uri: str
    version: int
    base_hash: str
    edits: tuple[TextEdit, ...]
    label: str
    deadline: int


class EditReceipt(Struct, frozen=True):
    """Answer to `smith/applyEdit` and payload of `smith/editDone`: what became of the change."""

    status: str
    change: str = ""
    version: int | None = None
    hash: str = ""
    message: str = ""
    reason: str = ""
    current: dict[str, Any] | None = None


class WithdrawEdit(Struct, frozen=True):
    """`smith/withdrawEdit`, server to client: forget a deferred change."""

    change: str


class ChangeState(Struct, frozen=True):
    """`smith/changeState`, client to server: a hunk of an applied change is now `undone`, `redone` or `touched`."""

    change: str
    state: str
    hunk: int = 0


class ReadBuffer(Struct, frozen=True):
    """`smith/readBuffer`, server to client: is this file open, and what does it say?"""

    uri: str
    real_path: str


class BufferState(Struct, frozen=True):
    """Answer to `smith/readBuffer`. `uri` is the name under which the buffer is attached."""

    open: bool
    text: str = ""
    version: int | None = None
    encoding: str = "utf-8"
    eol: str = "\n"
    bom: bool = False
    modified: bool = False
    uri: str = ""


class SaveBuffers(Struct, frozen=True):
    """`smith/saveBuffers`, server to client: write these buffers, because of `reason`.

    `base_hashes` holds one hash for each of `uris`: a buffer whose text has another one when it would be
    written is not written, its status is `stale`.
    """

    uris: tuple[str, ...]
    reason: str
    base_hashes: tuple[str, ...] = ()


class SaveResult(Struct, frozen=True):
    """One answer of `smith/saveBuffers`: `saved`, `stale`, `refused` or `unknown`."""

    uri: str
    status: str
    message: str = ""


class SaveAnswer(Struct, frozen=True):
    """Answer to `smith/saveBuffers`."""

    results: tuple[SaveResult, ...] = ()
