"""What may stand at the cursor of the input: the one place that asks for candidates."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from msgspec import Struct
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from smith_server.policy.roles import ROLES
from smith_server.runtime.commands import config
from smith_server.runtime.commands.table import COMMANDS
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session


class Candidate(Struct, frozen=True):
    """A text for the characters from `start` up to `end`, and a word on what it is."""

    text: str
    start: int
    end: int
    detail: str = ""


Complete = Callable[[str, int], Awaitable[Sequence[Candidate]]]
"""From a line and the offset of the cursor in it to the candidates."""


async def candidates(services: Services, session: Session, line: str, cursor: int) -> Sequence[Candidate]:
    """What may stand at `cursor`; waits for no network."""
    before = line[:cursor]
    if not before.startswith("/") or before.startswith("//"):
        return ()
    *words, beginning = before[1:].split(" ")
    start = cursor - len(beginning)
    if not words:
        found = [(name, command.help) for name, command in COMMANDS.items()]
        return [Candidate(f"/{name}", 0, cursor, text) for name, text in sorted(found) if name.startswith(beginning)]
    return [Candidate(text, start, cursor) for text in await _arguments(services, session, [*words, beginning])]


async def _arguments(services: Services, session: Session, words: list[str]) -> Sequence[str]:
    match words:
        case ["config", *rest]:
            return config.candidates(rest, services.loaded(session.root), (), await services.overrides())
        case ["role", beginning]:
            return [role.name for role in ROLES if role.user_facing and role.name.startswith(beginning)]
        case ["load", beginning]:
            rows = await services.conversations(session.root, 20)
            return [row.id[:8] for row in rows if row.id.startswith(beginning)]
        case _:
            return ()


class LineCompleter(Completer):
    """The same for an editing buffer."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> list[Completion]:
        """Nothing: candidates are waited for."""
        return []

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Those of the text up to the cursor."""
        cursor = document.cursor_position
        for each in await self._complete(document.text, cursor):
            if document.text[each.start : each.end] == each.text:
                continue
            yield Completion(each.text, each.start - cursor, display_meta=each.detail)
