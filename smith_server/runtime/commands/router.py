"""Command lines: a word that begins with `/`. They never reach a model; the commands are loaded with the first one."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from smith_server.core.errors import AgentFailure, failure
from smith_server.core.late import late
from smith_server.runtime.commands.result import Result
from smith_server.runtime.completion import Candidate, Completion, fitting, words_before
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session
from smith_server.runtime.typed import is_command

if TYPE_CHECKING:
    from smith_server.runtime.commands.table import Command

_commands: "Callable[[], Mapping[str, Command]]" = late("smith_server.runtime.commands.table:commands")
_near: Callable[[str], str] = late("smith_server.runtime.commands.table:near")


class Router:
    """The service `command`."""

    async def run(self, line: str, session: Session, services: Services) -> Result:
        """Run `line`. What goes wrong is told in the result."""
        word, *rest = line.strip().removeprefix("/").split(maxsplit=1) or [""]
        try:
            command = _commands().get(word)
            if command is None:
                hint = f"{_near(word)} /help lists them; a prompt that begins with / is written with two."
                raise failure("schema", "unknown_command", f"There is no command /{word}.{hint}")
            return await command.run(rest[0] if rest else "", session, services)
        except AgentFailure as problem:
            return Result(error=problem.error)

    async def complete(self, line: str, cursor: int, session: Session, services: Services) -> Completion:
        """What may stand at the `cursor` (code points) of a line that begins with `/`; of any other nothing."""
        name, *rest = words_before(line, cursor)
        if not is_command(line):
            return Completion(cursor, cursor)
        if not rest:
            every = _commands().items()
            return fitting(name, cursor, (Candidate(f"/{each}", command.help) for each, command in every))
        command = _commands().get(name.removeprefix("/"))
        found = await command.complete(rest, session, services) if command is not None else ()
        return fitting(rest[-1], cursor, found)

    def names(self) -> tuple[str, ...]:
        """The commands there are."""
        return tuple(_commands())
