"""The commands by name: what each does, and what completes it. Loaded with the first command line."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches

from msgspec import Struct

from smith_server.core.errors import failure
from smith_server.core.events import ConfigChanged
from smith_server.runtime.commands import arguments, config, conversation, manual, memory, shell, todos, views
from smith_server.runtime.commands.result import Result
from smith_server.runtime.completion import Candidate
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session


class Command(Struct, frozen=True):
    """One command: what follows its name, one sentence, its function, and what completes the words after it."""

    usage: str
    help: str
    run: Callable[[str, Session, Services], Awaitable[Result]]
    complete: Callable[[Sequence[str], Session, Services], Awaitable[Sequence[Candidate]]] = arguments.nothing


async def _config(rest: str, session: Session, services: Services) -> Result:
    result = await config.config(rest, session, services.handles.config)
    if rest.split()[:1] in (["set"], ["unset"]):
        session.emit(ConfigChanged(path=result.data["path"]))
    return result


async def _help(rest: str, session: Session, services: Services) -> Result:
    if not rest:
        return Result(manual.listed({name: command.help for name, command in COMMANDS.items()}))
    name = rest.strip().removeprefix("/")
    command = COMMANDS.get(name)
    if command is None:
        raise failure("schema", "unknown_command", f"There is no command /{name}.{near(name)} /help lists them.")
    return Result(manual.told(name, command.usage, command.help))


async def _names(words: Sequence[str], session: Session, services: Services) -> Sequence[Candidate]:
    return [Candidate(name, command.help) for name, command in COMMANDS.items()] if len(words) == 1 else ()


COMMANDS: dict[str, Command] = {
    "help": Command("[command]", "list the commands, or tell of one", _help, _names),
    "new": Command("", "begin a new conversation", conversation.new),
    "fork": Command("", "go on in a copy of this conversation", conversation.fork),
    "take-over": Command("", "go on here with what is open elsewhere", conversation.take_over),
    "load": Command(
        "[--here] <conversation>", "go on with another conversation", conversation.load, arguments.conversations
    ),
    "resume": Command(
        "[conversation]", "go on with the conversation before this", conversation.resume, arguments.conversations
    ),
    "history": Command("[n]", "list the conversations of this project", conversation.history),
    "rename": Command("<title>", "give this conversation another title", conversation.rename),
    "clear": Command("", "empty this conversation", conversation.clear),
    "role": Command("[role]", "show or choose the role", conversation.role, arguments.roles),
    "model": Command("[model]", "show or choose the model", conversation.model, arguments.models),
    "config": Command("[get|set|unset …]", "show and change settings", _config, arguments.settings),
    "memory": Command("[list|get|upsert|delete …]", "what this project remembers", memory.memory, arguments.memory),
    "scratchpad": Command(
        "[list|get|set|delete …]", "what this conversation keeps", memory.scratchpad, arguments.scratchpad
    ),
    "export": Command("[file]", "write this conversation into a file", conversation.export),
    "quit": Command("", "leave; the conversation stays stored", conversation.leave),
    "cmd": Command("<shell line>", "run a command for yourself", shell.cmd),
    "cmd+": Command("<shell line>", "the same, and show it to the model", shell.attached),
    "search": Command("[--all] <words>", "find messages and memories", views.search, arguments.everywhere),
    "todos": Command("", "show the plan of this conversation", todos.todos),
    "context": Command("", "show what takes the space of a request", views.context),
    "compact": Command("", "shorten what is sent of this conversation", conversation.compact),
    "usage": Command("", "show what was used and what it cost", views.usage),
    "prompt": Command("", "show the system prompt", views.prompt),
    "pager": Command("", "show the whole conversation", views.pager),
}


def near(word: str) -> str:
    """A question for whoever meant another command, "" when none is alike."""
    found = get_close_matches(word, COMMANDS, 1)
    return f" Did you mean /{found[0]}?" if found else ""


def commands() -> Mapping[str, Command]:
    """The commands there are."""
    return COMMANDS
