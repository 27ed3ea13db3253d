"""Settings, conversation and face become the frozen input of one turn, for the conversation or for a child."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol, cast

from msgspec import Struct

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
from smith_server.policy.matrix import check_tool
from smith_server.policy.roles import Role
from smith_server.proc.jobs import Jobs
from smith_server.proc.log import LogFolder
from smith_server.proc.run import Processes
from smith_server.runtime.actor import Actor, Post
from smith_server.runtime.dispatch import Children, Prepared
from smith_server.runtime.jobs import owner_of
from smith_server.runtime.models import provider_settings
from smith_server.runtime.providers import Providers
from smith_server.runtime.repositories import ProjectMemory, Scratchpad, Todos
from smith_server.runtime.session import Inbox, Prompt, Session
from smith_server.runtime.view import WindowView, rules_of
from smith_server.runtime.web import web
from smith_server.store.db import Database
from smith_server.tools.bash import Limits
from smith_server.tools.registry import Parts, Shell, all_tools
from smith_server.tools.report import ReportTool
from smith_server.tools.web_http import Wire
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
    logs: LogFolder
    settings: Callable[[Path], Settings]
    environ: Mapping[str, str]
    database: Database
    post: Post
    stored: Stored


class Kept(Struct):
    """What a conversation keeps from turn to turn: editor, what it knows of files, jobs, view, places for children."""

    session: Session
    editor: Editor
    texts: Texts
    jobs: Jobs
    limit: asyncio.Semaphore
    view: WindowView | None = None


class Assembler:
    """Builds turn inputs."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._kept: dict[str, Kept] = {}
        self._specs: dict[tuple[str, ...], tuple[ToolSpec, ...]] = {}
        self._wire = Wire()

    async def turn_input(self, session: Session, role: Role, prompt: Prompt, token: CancelToken) -> TurnInput:
        """The input of a turn of the conversation itself. Raises `AgentFailure` when no model can be had."""
        settings = self._shared.settings(session.root)
        kept = self._keep(session, settings)
        cwd = prompt.cwd or session.root
        actor = Actor(session.id, session.root, cwd, role, session.talk, session.turn, session.emit)
        return await self._input(actor, kept, kept.texts, prompt.model or session.model, token)

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
        return Prepared(turn, cast(ReportTool, turn.tools["report"]), partial(kept.jobs.end_of, actor.job))

    async def _input(self, actor: Actor, kept: Kept, texts: Texts, model: str, token: CancelToken) -> TurnInput:
        shared, settings = self._shared, self._shared.settings(actor.root)
        project = await asyncio.to_thread(find_project, actor.cwd)
        provider, model = await shared.providers.pick(settings, model, actor.role.name, actor.emit)
        inbox = Inbox() if actor.job else kept.session.inbox
        mask = secrets.mask(shared.environ, secrets.variables_of(settings))
        owner = owner_of(actor.job, actor.emit, inbox.note, mask)
        shell = Shell(kept.jobs, owner, _limits(settings))
        tools = all_tools(self._parts(actor, kept, texts, project, shell))
        own = provider_settings(settings, provider.name)
        frame = Request(
            model,
            await self._prompt(actor, project),
            (),
            self._offered(actor.role, tools),
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
            inbox=inbox,
            retries=Retries(_retry_rules(settings)),
            stored=shared.stored,
            token=token,
            cwd=actor.cwd,
            mask=mask,
            adopt=partial(_adopt, texts),
            budget=Budget(settings.tool_step_budget, settings.max_requests),
            save_before_run=settings.editor.save_before_run,
        )

    def _parts(self, actor: Actor, kept: Kept, texts: Texts, project: Project | None, shell: Shell) -> Parts:
        settings = self._shared.settings(actor.root)
        scratchpad = Scratchpad(self._shared.database, actor.conversation)
        prepare = partial(self._child, kept)
        return Parts(
            texts,
            shell,
            web(settings, self._shared.environ, self._wire),
            scratchpad,
            self._memory(project),
            Children(actor, prepare, self._shared.post, scratchpad, kept.limit),
            Todos(self._shared.database, actor.conversation, actor.job, actor.emit),
            cast(ReportKind, actor.role.row) if actor.job else None,
        )

    def _memory(self, project: Project | None) -> Memory | None:
        return ProjectMemory(self._shared.database, project.id) if project is not None and project.id else None

    async def _prompt(self, actor: Actor, project: Project | None) -> str:
        settings = self._shared.settings(actor.root)
        memory = self._memory(project)
        entries = await memory.list() if memory is not None else ()
        about = About(actor.cwd, project, settings.index_file, tuple(entries))
        return await asyncio.to_thread(system_prompt, actor.role.prompt_profile, about)

    def _offered(self, role: Role, tools: Mapping[str, Tool]) -> tuple[ToolSpec, ...]:
        """What the model of a role is told of its tools; described once."""
        offered = [tool for name, tool in tools.items() if check_tool(role.row, name) == "allow"]
        key = (role.name, *(tool.text for tool in offered))
        if key not in self._specs:
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
            jobs = Jobs(self._shared.processes, self._shared.logs, f"{session.id}-")
            kept = self._kept[session.id] = Kept(session, editor, texts, jobs, limit)
        return kept

    def jobs(self, session: Session) -> Jobs | None:
        """The jobs of a conversation, None as long as no turn has run."""
        kept = self._kept.get(session.id)
        return kept.jobs if kept is not None else None

    async def close(self) -> None:
        """End every job."""
        await asyncio.gather(*(kept.jobs.close() for kept in self._kept.values()))


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


def _late(session: Session, texts: Texts, change: str, receipt: Receipt) -> None:
    """A receipt that came too late corrects what is known and reaches the model with the next request."""
    texts.late_receipt(change, receipt)
    session.inbox.note(f"[The editor answered late: the edit whose fate was unknown is {receipt.status}.]")


async def _adopt(texts: Texts, path: Path) -> None:
    place = await asyncio.to_thread(locate, str(path), path.parent)
    with suppress(ToolRefusal):
        await texts.adopt(place)
