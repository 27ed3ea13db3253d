"""Settings, conversation and face become the frozen input of one turn, for the conversation or for a child."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol, cast

import msgspec
from msgspec import Struct

from smith_server.codebase.explorer import Explorer
from smith_server.codebase.index import Index
from smith_server.codebase.ripgrep import Ripgrep
from smith_server.config import secrets
from smith_server.config.schema import Settings
from smith_server.context.prompt import About, system_prompt
from smith_server.core.budget import Budget
from smith_server.core.cancel import CancelToken
from smith_server.core.editor import Editor, Receipt
from smith_server.core.errors import ToolRefusal
from smith_server.core.messages import ToolSpec
from smith_server.core.ports import Approver, Memory, Request, Stored
from smith_server.core.report import ReportKind
from smith_server.core.scope import TurnInput
from smith_server.core.tool import Tool, spec
from smith_server.llm.retry import Retries, RetryRules
from smith_server.policy.decide import RolePolicy
from smith_server.policy.denied import denied_paths
from smith_server.policy.matrix import check_tool
from smith_server.policy.roles import Role
from smith_server.proc.run import Processes
from smith_server.runtime.actor import Actor, Post
from smith_server.runtime.dispatch import Children, Prepared
from smith_server.runtime.models import provider_settings
from smith_server.runtime.providers import Providers
from smith_server.runtime.repositories import ProjectMemory, Scratchpad
from smith_server.runtime.session import Inbox, Prompt, Session
from smith_server.runtime.view import WindowView, rules_of
from smith_server.store.db import Database
from smith_server.tools.registry import Parts, all_tools
from smith_server.tools.report import ReportTool
from smith_server.workspace.paths import locate
from smith_server.workspace.project import Project, find_project
from smith_server.workspace.texts import Texts

UNKNOWN_WINDOW = 128_000
"""Tokens of a model of which nothing is known."""


class Face(Protocol):
    """What a front-end brings: a name, its open buffers, and a person to ask."""

    name: str

    def editor(self, session: Session) -> Editor: ...

    def approver(self, session: Session) -> Approver: ...


class Shared(Struct, frozen=True):
    """What all turns of a process share. `settings` gives them as they are now for a project."""

    face: Face
    providers: Providers
    processes: Processes
    settings: Callable[[Path], Settings]
    environ: Mapping[str, str]
    database: Database
    post: Post
    stored: Stored
    index: Index


class Kept(Struct):
    """What a conversation keeps from turn to turn: its editor, what it knows of files, its view, its places."""

    session: Session
    editor: Editor
    texts: Texts
    limit: asyncio.Semaphore
    view: WindowView | None = None


class Assembler:
    """Builds turn inputs."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._kept: dict[str, Kept] = {}
        self._specs: dict[tuple[str, float], tuple[ToolSpec, ...]] = {}

    async def turn_input(self, session: Session, role: Role, prompt: Prompt, token: CancelToken) -> TurnInput:
        """The input of a turn of the conversation itself. Raises `AgentFailure` when no model can be had."""
        settings = self._shared.settings(session.root)
        kept = self._keep(session, settings)
        cwd = prompt.cwd or session.root
        actor = Actor(session.id, session.root, cwd, role, session.talk, session.turn, session.emit)
        turn = await self._input(actor, kept, kept.texts, prompt.model or session.model, token)
        return msgspec.structs.replace(turn, inbox=session.inbox)

    async def system_prompt(self, session: Session, role: Role) -> str:
        """The system prompt that the next turn of this conversation sends."""
        actor = Actor(session.id, session.root, session.root, role, session.talk, "", session.emit)
        return await self._prompt(actor, await asyncio.to_thread(find_project, session.root))

    async def _child(self, kept: Kept, actor: Actor, token: CancelToken) -> Prepared:
        """The input of a child: texts, list and budget of its own, the conversation's editor and places."""
        texts = Texts(
            kept.editor,
            rebase=self._shared.settings(actor.root).editor.rebase,
            environment=self._shared.environ,
        )
        turn = await self._input(actor, kept, texts, "", token)
        return Prepared(turn, cast(ReportTool, turn.tools["report"]))

    async def _input(self, actor: Actor, kept: Kept, texts: Texts, model: str, token: CancelToken) -> TurnInput:
        shared, settings = self._shared, self._shared.settings(actor.root)
        project = await asyncio.to_thread(find_project, actor.cwd)
        provider, model = await shared.providers.pick(settings, model, actor.role.name, actor.emit)
        tools = all_tools(self._parts(actor, kept, texts, project, settings))
        own = provider_settings(settings, provider.name)
        frame = Request(
            model,
            await self._prompt(actor, project),
            (),
            self._offered(actor.role, tools, settings.bash.timeout),
            own.max_output_tokens,
            own.temperature,
            settings.defaults.stream,
        )
        return TurnInput(
            provider=provider,
            view=self._view(actor, kept, settings, frame),
            tools=tools,
            policy=RolePolicy(actor.role.row, settings.approval.mode),
            approver=_approver(shared.face, kept.session, actor),
            editor=kept.editor,
            inbox=Inbox(),
            retries=Retries(_retry_rules(settings)),
            stored=shared.stored,
            token=token,
            cwd=actor.cwd,
            mask=secrets.mask(shared.environ, secrets.variables_of(settings)),
            adopt=partial(_adopt, texts),
            budget=Budget(settings.tool_step_budget, settings.max_requests),
            save_before_run=settings.editor.save_before_run,
        )

    def _parts(self, actor: Actor, kept: Kept, texts: Texts, project: Project | None, settings: Settings) -> Parts:
        scratchpad = Scratchpad(self._shared.database, actor.conversation)
        prepare = partial(self._child, kept)
        return Parts(
            texts,
            self._explorer(actor, kept, texts, settings),
            self._shared.processes,
            scratchpad,
            self._memory(project),
            Children(actor, prepare, self._shared.post, scratchpad, kept.limit),
            settings.bash.timeout,
            settings.bash.max_output_bytes,
            cast(ReportKind, actor.role.row) if actor.job else None,
        )

    def _explorer(self, actor: Actor, kept: Kept, texts: Texts, settings: Settings) -> Explorer:
        """Lists files once for this turn, and keeps from the model what rules keep from `read`."""
        home = Path(self._shared.environ.get("HOME", "/"))
        denied = denied_paths(settings.approval.deny, actor.root, home)
        ripgrep = Ripgrep(self._shared.processes.lookout)
        return Explorer(ripgrep, kept.editor, denied, lambda: texts.created, self._shared.index)

    def _memory(self, project: Project | None) -> Memory | None:
        return ProjectMemory(self._shared.database, project.id) if project is not None and project.id else None

    async def _prompt(self, actor: Actor, project: Project | None) -> str:
        settings = self._shared.settings(actor.root)
        memory = self._memory(project)
        entries = await memory.list() if memory is not None else ()
        about = About(actor.cwd, project, settings.index_file, tuple(entries))
        return await asyncio.to_thread(system_prompt, actor.role.prompt_profile, about)

    def _offered(self, role: Role, tools: Mapping[str, Tool], seconds: float) -> tuple[ToolSpec, ...]:
        """What the model of a role is told of its tools; described once."""
        key = (role.name, seconds)
        if key not in self._specs:
            offered = [tool for name, tool in tools.items() if check_tool(role.row, name) == "allow"]
            self._specs[key] = tuple(map(spec, offered))
        return self._specs[key]

    def _view(self, actor: Actor, kept: Kept, settings: Settings, frame: Request) -> WindowView:
        """A conversation keeps its view, so that a request goes on where the last one ended."""
        rules = rules_of(
            settings.context_management,
            can_recall=check_tool(actor.role.row, "recall") == "allow",
            window=UNKNOWN_WINDOW,
            output_limit=frame.max_output_tokens or 0,
        )
        view = None if actor.job else kept.view
        if view is None or view.rules != rules:
            view = WindowView(rules, actor.emit)
        if not actor.job:
            kept.view = view
        view.use(frame)
        return view

    def _keep(self, session: Session, settings: Settings) -> Kept:
        kept = self._kept.get(session.id)
        if kept is None:
            editor = self._shared.face.editor(session)
            texts = Texts(editor, rebase=settings.editor.rebase, environment=self._shared.environ)
            editor.on_late(lambda change, receipt: _late(session, texts, change, receipt))
            limit = asyncio.Semaphore(settings.subagents.max_parallel)
            kept = self._kept[session.id] = Kept(session, editor, texts, limit)
        return kept


def _approver(face: Face, session: Session, actor: Actor) -> Approver:
    """Questions of a child carry its job."""
    approver = face.approver(session)
    return session.approvals.asked_by(actor.emit) if approver is session.approvals else approver


def _retry_rules(settings: Settings) -> RetryRules:
    llm = settings.llm_config
    return RetryRules(
        llm.retry_max_retries,
        tuple(llm.retry_backoff_ms),
        settings.empty_response_retry_max_retries,
        tuple(settings.empty_response_retry_backoff_ms),
        llm.stream_retry_after_output,
    )


def _late(session: Session, texts: Texts, change: str, receipt: Receipt) -> None:
    """A receipt that came too late corrects what is known and reaches the model with the next request."""
    texts.late_receipt(change, receipt)
    session.inbox.note(f"[The editor answered late: the edit whose fate was unknown is {receipt.status}.]")


async def _adopt(texts: Texts, path: Path) -> None:
    place = await asyncio.to_thread(locate, str(path), path.parent)
    with suppress(ToolRefusal):
        await texts.adopt(place)
