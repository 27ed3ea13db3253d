"""Settings, conversation and services become the frozen input of one turn, for the conversation or for a child."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec import Struct, structs

from smith_server.config import secrets
from smith_server.config.schema import Settings
from smith_server.context.prompt import role_text
from smith_server.core.budget import Budget
from smith_server.core.cancel import CancelToken
from smith_server.core.compaction import Compaction
from smith_server.core.editor import Editor, Receipt
from smith_server.core.errors import ToolRefusal
from smith_server.core.late import late
from smith_server.core.messages import UserMessage
from smith_server.core.ports import Approver, Memory, Request, Stored
from smith_server.core.report import ReportKind
from smith_server.core.scope import TurnInput
from smith_server.core.space import Space
from smith_server.core.tool import Tool
from smith_server.core.window import Shown
from smith_server.llm.retry import Retries, RetryRules
from smith_server.policy.decide import RolePolicy
from smith_server.policy.matrix import check_tool
from smith_server.runtime.actor import Actor, Post
from smith_server.runtime.compact import Summarizer
from smith_server.runtime.configured import model_settings
from smith_server.runtime.dispatch import Prepared
from smith_server.runtime.execution import Scope, context_for
from smith_server.runtime.handles import Face, Handles
from smith_server.runtime.line import Inbox, Prompt
from smith_server.runtime.models import NOTHING_ASKED, Asked
from smith_server.runtime.providers import Picked, Wish
from smith_server.runtime.repositories import ProjectMemory, Scratchpad, Todos
from smith_server.runtime.room import Room
from smith_server.runtime.session import Session
from smith_server.runtime.view import WindowView, rules_of
from smith_server.runtime.web import web
from smith_server.tools.exploring import Around
from smith_server.tools.limits import Limits
from smith_server.tools.registry import Parts, Shell
from smith_server.workspace.paths import locate
from smith_server.workspace.project import Projects

if TYPE_CHECKING:
    from smith_server.proc.jobs import Owner
    from smith_server.tools.bash import Bash
    from smith_server.tools.report import ReportTool
    from smith_server.workspace.texts import Texts

COMPACT = "compact"
"""The prompt of models too small for any role."""

_owner_of: "Callable[..., Owner]" = late("smith_server.runtime.jobs:owner_of")
_bash: "Callable[..., Bash]" = late("smith_server.tools.bash:Bash")
_texts: "Callable[..., Texts]" = late("smith_server.workspace.texts:Texts")

_FEW_TOOLS = ("read", "report")


class Ways(Struct, frozen=True):
    """How what happens in a turn gets out: its events, and waiting until they are stored."""

    post: Post
    stored: Stored


class NextRequest(Struct, frozen=True):
    """What would be sent, to whom, and what of the conversation that leaves out; `ceiling` is in tokens. Above
    `trigger` tokens room is made first."""

    request: Request
    provider: str
    shown: Shown
    trigger: int
    ceiling: int


class Kept(Struct):
    """What a conversation keeps from turn to turn: its editor, what it knows of files, its view."""

    session: Session
    editor: Editor
    texts: "Callable[[], Texts]"
    view: WindowView | None = None


class Assembler:
    """Builds turn inputs out of the services."""

    def __init__(self, handles: Handles, environ: Mapping[str, str], ways: Ways) -> None:
        self._handles = handles
        self._environ = environ
        self._ways = ways
        self._kept: dict[str, Kept] = {}
        self._projects = Projects()

    async def turn_input(self, session: Session, prompt: Prompt, token: CancelToken) -> TurnInput:
        """The input of a turn of the conversation itself. Raises `AgentFailure` when no model can be had."""
        actor = await self._actor(session, prompt.cwd or session.root, prompt.role)
        kept = self._keep(session, actor.settings)
        asked = Asked(prompt.model) if prompt.model else _chosen(session)
        return await self._input(actor, kept, kept.texts, token, asked)

    async def next_request(self, session: Session, prompt: Prompt) -> NextRequest:
        """The request that `prompt` would send first; without a text the one that the conversation as it is would."""
        actor = await self._actor(session, prompt.cwd or session.root, prompt.role)
        kept = self._keep(session, actor.settings)
        # The kept view may be in the hands of a running turn: it is looked at, and neither used nor replaced.
        aside = Kept(session, kept.editor, kept.texts)
        turn = await self._input(actor, aside, kept.texts, CancelToken(), Asked(prompt.model or session.model))
        fresh = cast(WindowView, turn.view)
        view = kept.view if kept.view is not None and kept.view.rules == fresh.rules else fresh
        said = [UserMessage("", prompt.text, prompt.attached)] if prompt.text else []
        shown = view.look([*session.talk.messages, *said], fresh.frame)
        request = structs.replace(fresh.frame, messages=shown.messages)
        return NextRequest(request, turn.provider.name, shown, int(view.rules.trigger), view.rules.ceiling)

    def ceiling(self, conversation: str) -> int:
        """The most tokens that a request of a conversation may have, as of its last turn; 0 before there was one."""
        kept = self._kept.get(conversation)
        return kept.view.rules.ceiling if kept is not None and kept.view is not None else 0

    def forget(self, conversation: str) -> None:
        """It is not open any more."""
        self._kept.pop(conversation, None)

    def forget_view(self, conversation: str) -> None:
        """Its messages are others than before: what of them was sent counts no more."""
        if conversation in self._kept:
            self._kept[conversation].view = None

    async def system_prompt(self, session: Session) -> str:
        """The system prompt that the next turn of this conversation sends."""
        return await self._prompt(await self._actor(session, session.root))

    async def compact(self, session: Session, token: CancelToken) -> Compaction:
        """Shorten what is sent of a conversation that no turn is writing. Raises `Cancelled`."""
        view = await self._own_view(session, token)
        record = await view.compact(session.talk.messages)
        view.used()
        return record

    async def space(self, session: Session) -> Space:
        """What takes the space of the next request."""
        kept = self._kept.get(session.id)
        # The view of a running turn stays as that turn made it.
        view = kept.view if kept is not None and session.busy else None
        return (view or await self._own_view(session, CancelToken())).space(session.talk.messages)

    async def _own_view(self, session: Session, token: CancelToken) -> WindowView:
        actor = await self._actor(session, session.root)
        kept = self._keep(session, actor.settings)
        turn = await self._input(actor, kept, kept.texts, token, _chosen(session))
        return cast(WindowView, turn.view)

    def shell(self, session: Session) -> "Bash":
        """Commands of the person: jobs of the conversation, of which the model is told nothing."""
        settings = self._handles.config.settings(session.root)
        mask = secrets.mask(self._environ, secrets.variables_of(settings))
        owner = _owner_of("user", session.emit, lambda text: None, mask)
        return _bash(self._handles.tool.jobs(session.id), owner, _limits(settings))

    async def memory(self, root: Path) -> ProjectMemory | None:
        """What the project of a folder remembers; None without a project that has an identity."""
        return self._memory(await self.scope(root))

    async def scope(self, cwd: Path) -> Scope:
        """Where a turn that is asked from `cwd` works."""
        return Scope(cwd, await self._projects.find(cwd))

    async def _actor(self, session: Session, cwd: Path, role_asked: str = "") -> Actor:
        handles = self._handles
        loaded = handles.config.loaded(session.root)
        role = handles.role.active(role_asked or session.role, loaded.settings.active_role or "")
        context = context_for(session.id, role.name, loaded, handles.by_name())
        scope = await self.scope(cwd)
        room = Room(loaded.settings.subagents)
        return Actor(session.id, session.root, scope, context, role, session.talk, session.turn, session.emit, room)

    async def _child(self, kept: Kept, actor: Actor, token: CancelToken) -> Prepared:
        """The input of a child: texts, list and budget of its own, the conversation's editor."""
        texts = self._texts(kept.editor, actor.settings)
        turn = await self._input(actor, kept, texts, token)
        end_jobs = partial(self._handles.tool.jobs(actor.conversation).end_of, actor.job)
        return Prepared(turn, cast("ReportTool", turn.tools["report"]), end_jobs)

    async def _input(
        self, actor: Actor, kept: Kept, texts: "Callable[[], Texts]", token: CancelToken, asked: Asked = NOTHING_ASKED
    ) -> TurnInput:
        handles, settings = self._handles, actor.settings
        wish = Wish(settings, asked, actor.role, partial(handles.config.written, actor.root))
        picked = await handles.model.pick(wish, actor.emit)
        provider = picked.provider
        inbox = Inbox() if actor.job else kept.session.inbox
        mask = secrets.mask({**self._environ, **picked.secret}, secrets.variables_of(settings))
        owner = partial(_owner_of, actor.job, actor.emit, inbox.note, mask)
        shell = Shell(partial(handles.tool.jobs, actor.conversation), owner, _limits(settings))
        tools = handles.tool.tools(self._parts(actor, kept, texts, shell))
        without = ("dispatch",) if actor.room.is_closed_at(actor.depth) else ()
        own = model_settings(settings, provider.name, picked.selected.model)
        frame = Request(
            picked.selected.model,
            role_text(COMPACT) if picked.compact else await self._prompt(actor),
            (),
            handles.tool.offered(actor.role, _few(tools) if picked.compact else tools, without),
            own.max_output_tokens or picked.output_limit,
            own.temperature,
            settings.defaults.stream,
            picked.images,
        )
        return TurnInput(
            provider=provider,
            view=self._view(actor, kept, frame, picked, token),
            tools=tools,
            policy=RolePolicy(actor.role.row, settings.approval.mode),
            approver=_approver(handles.ui, kept.session, actor),
            editor=kept.editor,
            inbox=inbox,
            retries=Retries(_retry_rules(settings)),
            stored=self._ways.stored,
            token=token,
            cwd=actor.scope.cwd,
            mask=mask,
            adopt=partial(_adopt, texts),
            budget=Budget(settings.tool_step_budget, settings.max_requests),
            save_before_run=settings.editor.save_before_run,
        )

    def _parts(self, actor: Actor, kept: Kept, texts: "Callable[[], Texts]", shell: Shell) -> Parts:
        handles, settings = self._handles, actor.settings
        scratchpad = Scratchpad(handles.persistence, actor.conversation)
        prepare = partial(self._child, kept)
        return Parts(
            texts,
            self._around(actor, kept, texts),
            shell,
            web(settings, self._environ, handles.tool.wire),
            scratchpad,
            self._memory(actor.scope),
            handles.dispatch.children(actor, prepare, self._ways.post, scratchpad),
            Todos(handles.persistence, actor.conversation, actor.job, actor.emit),
            cast(ReportKind, actor.role.row) if actor.job else None,
        )

    def _around(self, actor: Actor, kept: Kept, texts: "Callable[[], Texts]") -> Around:
        tool, home = self._handles.tool, Path(self._environ.get("HOME", "/"))
        deny = actor.settings.approval.deny
        return Around(tool.lookout, kept.editor, deny, actor.root, home, lambda: tuple(texts().created), tool.known)

    def _memory(self, scope: Scope) -> ProjectMemory | None:
        return ProjectMemory(self._handles.persistence, scope.project_id) if scope.project_id else None

    async def _prompt(self, actor: Actor) -> str:
        memory: Memory | None = self._memory(actor.scope)
        return await self._handles.prompt.build(actor.role, actor.scope, memory, actor.settings.index_file)

    def _view(self, actor: Actor, kept: Kept, frame: Request, picked: Picked, token: CancelToken) -> WindowView:
        """A conversation keeps its view, so that a request goes on where the last one ended."""
        rules = rules_of(
            actor.settings.context_management,
            can_recall=check_tool(actor.role.row, "recall") == "allow",
            window=picked.selected.context_window,
            output_limit=frame.max_output_tokens or picked.selected.max_output_tokens or 0,
        )
        view = None if actor.job else kept.view
        if view is None or view.rules != rules:
            records = () if actor.job else kept.session.compactions
            view = WindowView(rules, actor.emit, records, view.factor if view is not None else 1.0)
        if not actor.job:
            kept.view = view
        view.use(frame, Summarizer(picked.provider, frame, token))
        return view

    def _texts(self, editor: Editor, settings: Settings) -> "Callable[[], Texts]":
        """What makes them when a tool needs them, once."""
        return cache(partial(_texts, editor, rebase=settings.editor.rebase, environment=self._environ))

    def _keep(self, session: Session, settings: Settings) -> Kept:
        kept = self._kept.get(session.id)
        if kept is None:
            editor = self._handles.ui.editor(session)
            texts = self._texts(editor, settings)
            editor.on_late(lambda change, receipt: _late(session, texts(), change, receipt))
            kept = self._kept[session.id] = Kept(session, editor, texts)
        return kept


def _chosen(session: Session) -> Asked:
    """The model that a person chose for a conversation."""
    return Asked(session.model, provider=session.provider)


def _few(tools: Mapping[str, Tool]) -> Mapping[str, Tool]:
    """What is offered to a model too small to choose among more."""
    return {name: tools[name] for name in _FEW_TOOLS if name in tools}


def _approver(face: Face, session: Session, actor: Actor) -> Approver:
    """Questions of a child carry its job."""
    approver = face.approver(session)
    return session.approvals.asked_by(actor.emit) if approver is session.approvals else approver


def _limits(settings: Settings) -> Limits:
    bash = settings.bash
    return Limits(bash.timeout, bash.max_background_jobs, bash.max_output_bytes)


def _retry_rules(settings: Settings) -> RetryRules:
    llm = settings.llm_config
    return RetryRules(
        llm.retry_max_retries,
        tuple(llm.retry_backoff_ms),
        settings.empty_response_retry_max_retries,
        tuple(settings.empty_response_retry_backoff_ms),
        llm.stream_retry_after_output,
    )


def _late(session: Session, texts: "Texts", change: str, receipt: Receipt) -> None:
    """A receipt that came too late corrects what is known and reaches the model with the next request."""
    texts.late_receipt(change, receipt)
    session.inbox.note(f"[The editor answered late: the edit whose fate was unknown is {receipt.status}.]")


async def _adopt(texts: "Callable[[], Texts]", path: Path) -> None:
    place = await asyncio.to_thread(locate, str(path), path.parent)
    with suppress(ToolRefusal):
        await texts().adopt(place)
