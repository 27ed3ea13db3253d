"""Settings, conversation and services become the frozen input of one turn, for the conversation or for a child."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec import Struct, structs

from smith_server.config import secrets
from smith_server.config.schema import Settings
from smith_server.context.prompt import role_text
from smith_server.core.account import Meter
from smith_server.core.budget import Budget
from smith_server.core.cancel import CancelToken
from smith_server.core.errors import AgentFailure, ToolRefusal
from smith_server.core.events import Notice
from smith_server.core.ports import Approver, Chance, Request, Stored
from smith_server.core.scope import TurnInput
from smith_server.core.tool import Tool
from smith_server.llm.retry import Retries, RetryRules
from smith_server.policy.decide import RolePolicy
from smith_server.policy.matrix import check_tool
from smith_server.runtime.actor import Actor, Post
from smith_server.runtime.compact import Summarize, Summarizer
from smith_server.runtime.configured import model_settings
from smith_server.runtime.dispatch import Prepared
from smith_server.runtime.execution import Scope, context_for
from smith_server.runtime.handles import Face, Handles
from smith_server.runtime.kept import Keeping, Kept
from smith_server.runtime.kit import Kit
from smith_server.runtime.line import Inbox, Prompt
from smith_server.runtime.models import NOTHING_ASKED, Asked
from smith_server.runtime.providers import Picked, Wish
from smith_server.runtime.repositories import ProjectMemory
from smith_server.runtime.room import Room
from smith_server.runtime.session import Session
from smith_server.runtime.spending import catch_up
from smith_server.runtime.view import WindowView, rules_of
from smith_server.workspace.paths import locate
from smith_server.workspace.project import Projects

if TYPE_CHECKING:
    from smith_server.tools.report import ReportTool
    from smith_server.workspace.texts import Texts

COMPACT = "compact"
"""The prompt of models too small for any role."""

_FEW_TOOLS = ("read", "report")


class Ways(Struct, frozen=True):
    """What turns have of their process: where events go, waiting until they are stored, where chance comes from."""

    post: Post
    stored: Stored
    chance: Chance


class Assembler:
    """Builds turn inputs out of the services."""

    def __init__(self, handles: Handles, environ: Mapping[str, str], ways: Ways) -> None:
        self._handles = handles
        self._environ = environ
        self._ways = ways
        self._projects = Projects()
        self.keeping = Keeping(handles.ui, environ)
        self.kit = Kit(handles, environ, ways.post)

    async def turn_input(self, session: Session, prompt: Prompt, token: CancelToken) -> TurnInput:
        """The input of a turn of the conversation itself. Raises `AgentFailure` when no model can be had."""
        actor = await self._actor(session, prompt.cwd or session.root, prompt.role)
        kept = await self._kept(actor, session)
        asked = Asked(prompt.model) if prompt.model else _chosen(session)
        turn = await self._input(actor, kept, kept.texts, token, asked)
        return structs.replace(turn, renewed=partial(self._renewed, actor, kept, _chosen(session)))

    async def _renewed(self, actor: Actor, kept: Kept, before: Asked, turn: TurnInput) -> TurnInput:
        """The turn with the model that was chosen since the request before; as it was when that cannot be had."""
        chosen = _chosen(kept.session)
        if chosen == before:
            return turn
        renewed = partial(self._renewed, actor, kept, chosen)
        try:
            turn = await self._input(actor, kept, kept.texts, turn.token, chosen)
        except AgentFailure as problem:
            actor.emit(Notice(level="warning", text=f"The model stays what it was. {problem.error.message}"))
        return structs.replace(turn, renewed=renewed)

    async def own_input(self, session: Session, token: CancelToken) -> TurnInput:
        """The input of a turn in which nobody says anything."""
        actor = await self._actor(session, session.root)
        kept = await self._kept(actor, session)
        return await self._input(actor, kept, kept.texts, token, _chosen(session))

    async def input_aside(self, session: Session, prompt: Prompt) -> TurnInput:
        """The input of a turn that is only looked at: what the conversation keeps stays as it is."""
        actor = await self._actor(session, prompt.cwd or session.root, prompt.role)
        kept = self.keeping.of(session, actor.settings).aside()
        return await self._input(actor, kept, kept.texts, CancelToken(), Asked(prompt.model or session.model))

    async def system_prompt(self, session: Session) -> str:
        """The system prompt that the next turn of this conversation sends."""
        return await self._prompt(await self._actor(session, session.root))

    async def memory(self, root: Path) -> ProjectMemory | None:
        """What the project of a folder remembers; None without a project that has an identity."""
        return self.kit.memory(await self.scope(root))

    async def scope(self, cwd: Path) -> Scope:
        """Where a turn that is asked from `cwd` works."""
        return Scope(cwd, await self._projects.find(cwd))

    async def _kept(self, actor: Actor, session: Session) -> Kept:
        kept = self.keeping.of(session, actor.settings)
        await catch_up(kept, self._handles.persistence)
        return kept

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
        texts = self.keeping.texts(kept.editor, actor.settings)
        turn = await self._input(actor, kept, texts, token)
        end_jobs = partial(self._handles.tool.jobs(actor.conversation).end_of, actor.job)
        return Prepared(turn, cast("ReportTool", turn.tools["report"]), end_jobs)

    async def _input(
        self, actor: Actor, kept: Kept, texts: "Callable[[], Texts]", token: CancelToken, asked: Asked = NOTHING_ASKED
    ) -> TurnInput:
        handles, settings = self._handles, actor.settings
        wish = Wish(settings, asked, actor.role, partial(handles.config.written, actor.root))
        picked = await handles.model.pick(wish, actor.emit)
        provider, meter = picked.provider, Meter(picked.tariff.bill, kept.account)
        inbox = Inbox() if actor.job else kept.session.inbox
        mask = secrets.mask({**self._environ, **picked.secret}, secrets.variables_of(settings))
        shell = self.kit.shell(actor, inbox.note, mask)
        tools = self.kit.tools(actor, kept, texts, shell, partial(self._child, kept))
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
            view=self._view(actor, kept, frame, picked, Summarizer(provider, frame, token, meter)),
            tools=tools,
            policy=RolePolicy(actor.role.row, settings.approval.mode),
            approver=_approver(handles.ui, kept.session, actor),
            editor=kept.editor,
            inbox=inbox,
            retries=Retries(_retry_rules(settings), self._ways.chance),
            stored=self._ways.stored,
            token=token,
            cwd=actor.scope.cwd,
            mask=mask,
            adopt=partial(_adopt, texts),
            budget=Budget(settings.tool_step_budget, settings.max_requests, settings.max_budget_usd),
            meter=meter,
            save_before_run=settings.editor.save_before_run,
        )

    async def _prompt(self, actor: Actor) -> str:
        memory = self.kit.memory(actor.scope)
        return await self._handles.prompt.build(actor.role, actor.scope, memory, actor.settings.index_file)

    def _view(self, actor: Actor, kept: Kept, frame: Request, picked: Picked, summarize: Summarize) -> WindowView:
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
        view.use(frame, summarize)
        return view


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


def _retry_rules(settings: Settings) -> RetryRules:
    llm = settings.llm_config
    return RetryRules(
        llm.retry_max_retries,
        tuple(llm.retry_backoff_ms),
        settings.empty_response_retry_max_retries,
        tuple(settings.empty_response_retry_backoff_ms),
        llm.stream_retry_after_output,
    )


async def _adopt(texts: "Callable[[], Texts]", path: Path) -> None:
    place = await asyncio.to_thread(locate, str(path), path.parent)
    with suppress(ToolRefusal):
        await texts().adopt(place)
