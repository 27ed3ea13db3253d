"""Settings, conversation and face become the frozen input of one turn."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from smith_server.config import secrets
from smith_server.config.schema import Settings
from smith_server.context.prompt import Project, system_prompt
from smith_server.core.cancel import CancelToken
from smith_server.core.editor import Editor, Receipt
from smith_server.core.errors import ToolRefusal
from smith_server.core.messages import Message, ToolSpec
from smith_server.core.ports import Approver, Request, Stored
from smith_server.core.scope import TurnInput
from smith_server.core.tool import Tool, spec
from smith_server.policy.decide import ModePolicy
from smith_server.proc.run import Processes
from smith_server.runtime.models import provider_settings
from smith_server.runtime.providers import Providers
from smith_server.runtime.session import Prompt, Session
from smith_server.tools.registry import Local, local_tools
from smith_server.workspace.paths import locate
from smith_server.workspace.texts import Texts

ROLE = "direct"


class Face(Protocol):
    """What a front-end brings: a name, its open buffers, and a person to ask (None: by events)."""

    name: str

    def editor(self, session: Session) -> Editor: ...

    def approver(self, session: Session) -> Approver: ...


class Wholly:
    """A `View` that sends everything, unchanged."""

    def __init__(self, request: Request) -> None:
        self._request = request

    async def next(self, messages: Sequence[Message]) -> Request:
        request = self._request
        return Request(
            request.model,
            request.system,
            tuple(messages),
            request.tools,
            request.max_output_tokens,
            request.temperature,
            request.stream,
        )


class Kit(Struct, frozen=True):
    """What a conversation keeps from turn to turn; `specs` is what a model is told of its tools."""

    editor: Editor
    texts: Texts
    tools: Mapping[str, Tool]
    specs: tuple[ToolSpec, ...]


class Assembler:
    """Builds turn inputs. `settings` gives the settings as they are now for a project."""

    def __init__(
        self,
        face: Face,
        providers: Providers,
        processes: Processes,
        settings: Callable[[Path], Settings],
        environ: Mapping[str, str],
    ) -> None:
        self._face = face
        self._providers = providers
        self._processes = processes
        self._settings = settings
        self._environ = environ
        self._kits: dict[str, Kit] = {}

    async def turn_input(self, session: Session, prompt: Prompt, token: CancelToken, stored: Stored) -> TurnInput:
        """The input of one turn. Raises `AgentFailure` when no provider or model can be had."""
        settings = self._settings(session.root)
        provider, model = await self._providers.pick(settings, prompt.model, ROLE, session.emit)
        kit = self._kit(session, settings)
        own = provider_settings(settings, provider.name)
        request = Request(
            model,
            self.system_prompt(session),
            (),
            kit.specs,
            own.max_output_tokens,
            own.temperature,
            settings.defaults.stream,
        )
        return TurnInput(
            provider=provider,
            view=Wholly(request),
            tools=kit.tools,
            policy=ModePolicy(settings.approval.mode),
            approver=self._face.approver(session),
            editor=kit.editor,
            inbox=session.inbox,
            stored=stored,
            token=token,
            cwd=prompt.cwd or session.root,
            mask=secrets.mask(self._environ, secrets.key_variables(settings.llm_config.api_key_env)),
            adopt=partial(_adopt, kit.texts),
            max_requests=settings.max_requests,
            save_before_run=settings.editor.save_before_run,
        )

    def system_prompt(self, session: Session) -> str:
        """The system prompt that the next turn of this conversation sends."""
        return system_prompt(ROLE, Project(session.root, session.root))

    def forget(self, session: Session) -> None:
        """Drop what was kept for a conversation that is closed."""
        self._kits.pop(session.id, None)

    def _kit(self, session: Session, settings: Settings) -> Kit:
        """Tools of a conversation; they keep what it knows of each file."""
        kit = self._kits.get(session.id)
        if kit is None:
            editor = self._face.editor(session)
            texts = Texts(editor, rebase=settings.editor.rebase, environment=self._environ)
            editor.on_late(lambda change, receipt: _late(session, texts, change, receipt))
            local = Local(texts, self._processes, settings.bash.timeout, settings.bash.max_output_bytes)
            tools = local_tools(local)
            kit = self._kits[session.id] = Kit(editor, texts, tools, tuple(map(spec, tools.values())))
        return kit


def _late(session: Session, texts: Texts, change: str, receipt: Receipt) -> None:
    """A receipt that came too late corrects what is known and reaches the model with the next request."""
    texts.late_receipt(change, receipt)
    session.inbox.note(f"[The editor answered late: the edit whose fate was unknown is {receipt.status}.]")


async def _adopt(texts: Texts, path: Path) -> None:
    place = await asyncio.to_thread(locate, str(path), path.parent)
    with suppress(ToolRefusal):
        await texts.adopt(place)
