"""The commands by name: what each does, and what completes it. Loaded with the first command line."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct

from smith_server.core.events import ConfigChanged
from smith_server.runtime.commands import arguments, config, conversation, memory, shell, todos, views
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


COMMANDS: dict[str, Command] = {
    "help": Command("", "list the commands", lambda rest, session, services: _help()),
    "new": Command("", "begin a new conversation", conversation.new),
    "fork": Command("", "go on in a copy of this conversation", conversation.fork),
    "take-over": Command("", "go on here with this conversation when it is open elsewhere", conversation.take_over),
    "load": Command(
        "[--here] <conversation>", "go on with another conversation", conversation.load, arguments.conversations
    ),
    "resume": Command(
        "[conversation]",
        "go on with the conversation before this one, or another",
        conversation.resume,
        arguments.conversations,
    ),
    "history": Command("[n]", "list the stored conversations of this project", conversation.history),
    "rename": Command("<title>", "give this conversation another title", conversation.rename),
    "clear": Command("", "empty this conversation", conversation.clear),
    "role": Command("[role]", "show or choose the role", conversation.role, arguments.roles),
    "model": Command("[model]", "show or choose the model", conversation.model, arguments.models),
    "config": Command("[get|set|unset …]", "show and change settings", _config, arguments.settings),
    "memory": Command("[list|get|upsert|delete …]", "what this project remembers", memory.memory, arguments.memory),
    "scratchpad": Command(
        "[list|get|set|delete …]", "what this conversation keeps", memory.scratchpad, arguments.scratchpad
    ),
    "export": Command("[file]", "write this conversation into a file of JSON lines", conversation.export),
    "quit": Command("", "leave; the conversation stays stored", conversation.leave),
    "cmd": Command("<shell line>", "run a command for yourself; no model hears of it", shell.cmd),
    "cmd+": Command("<shell line>", "the same, and the next prompt carries what it wrote", shell.attached),
    "search": Command("[--all] <words>", "find messages and memories", views.search, arguments.everywhere),
    "todos": Command("", "show the plan of this conversation", todos.todos),
    "context": Command("", "show what takes the space of a request", views.context),
    "compact": Command("", "shorten what is sent of this conversation, now", conversation.compact),
    "usage": Command("", "show what this conversation and its project used and cost", views.usage),
    "prompt": Command("", "show the system prompt", views.prompt),
    "pager": Command("", "show the whole conversation", views.pager),
}


async def _help() -> Result:
    rows = [(f"/{name} {command.usage}".rstrip(), command.help) for name, command in COMMANDS.items()]
    width = max(len(name) for name, _ in rows)
    return Result("\n".join(f"{name:<{width}}  {text}" for name, text in rows))


def commands() -> Mapping[str, Command]:
    """The commands there are."""
    return COMMANDS
