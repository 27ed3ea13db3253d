"""Commands that begin, list and open conversations."""

import time

from smith_server.core.errors import failure
from smith_server.core.printable import printable
from smith_server.runtime.commands.result import Result
from smith_server.runtime.offered import Listed
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session
from smith_server.store.conversations import Header

_MOST_DIGITS = 6
_MOST_MODELS = 8


async def new(rest: str, session: Session, services: Services) -> Result:
    """Begin a new conversation of the same project; it is the one that is resumed from now on."""
    _idle(session)
    fresh = await services.sessions.new(session.root)
    return Result("A new conversation.", {"conversation": fresh.id})


async def load(rest: str, session: Session, services: Services) -> Result:
    """Go on with a stored conversation, by its id or the beginning of it; `--here` lets it work in this folder."""
    moves, beginning = _option("--here", rest)
    if not beginning:
        return await history("", session, services)
    _idle(session)
    name = (await services.library.find(beginning)).id
    found = await services.sessions.get(name, session.root, here=moves)
    return Result(f"Conversation {found.id}.", {"conversation": found.id})


async def fork(rest: str, session: Session, services: Services) -> Result:
    """Go on in a copy of this conversation; the original stays as it is."""
    _idle(session)
    copy = await services.sessions.fork(session.id)
    return Result(f"This is a copy of {session.id[:8]}.", {"conversation": copy.id})


async def take_over(rest: str, session: Session, services: Services) -> Result:
    """Go on here with this conversation, which another process writes; it is read-only there from then on."""
    found = await services.sessions.take_over(session.id)
    if found is session:
        return Result("This conversation is yours already. One that is open elsewhere: /load ID, then /take-over.")
    return Result("This conversation goes on here.", {"conversation": found.id})


async def resume(rest: str, session: Session, services: Services) -> Result:
    """Go on with a stored conversation, or with the one that was used before this one."""
    if rest:
        return await load(rest, session, services)
    _idle(session)
    others = [row for row in await services.library.listed(session.root, 2) if row.id != session.id]
    if not others:
        return Result("There is no other conversation in this project.")
    found = await services.sessions.get(others[0].id, session.root)
    return Result(f"Conversation {found.id}: {others[0].title}", {"conversation": found.id})


async def export(rest: str, session: Session, services: Services) -> Result:
    """Write all that is stored of this conversation into a new file of JSON lines."""
    path = session.root / (rest or f"smith-{session.id[:8]}.jsonl")
    count = await services.library.export(session.id, path)
    return Result(f"{count} records are in {path}.", {"path": str(path)})


async def leave(rest: str, session: Session, services: Services) -> Result:
    """Leave; the front-end does that."""
    return Result(data={"quit": True})


async def history(rest: str, session: Session, services: Services) -> Result:
    """The stored conversations, newest first."""
    if rest and not (rest.isascii() and rest.isdigit() and len(rest) < _MOST_DIGITS):
        raise failure("schema", "invalid_arguments", "usage: /history [n]")
    rows = await services.library.listed(session.root, int(rest or 20))
    if not rows:
        return Result("No conversation is stored for this project.")
    lines = [f"{_row(each)}{'  (this one)' if each.id == session.id else ''}" for each in rows]
    return Result("\n".join(lines), {"conversations": [row.id for row in rows]})


async def role(rest: str, session: Session, services: Services) -> Result:
    """Show the role, or take another one for this conversation from the next turn on."""
    names = services.handles.role.user_facing()
    if not rest:
        own = services.role(session).name
        known = (services.handles.role.resolve(name) for name in names)
        rows = [f"{'*' if each.name == own else ' '} {each.name:<14}{each.about}" for each in known]
        return Result("\n".join(rows))
    if rest not in names:
        raise failure("schema", "invalid_arguments", f"usage: /role [{' | '.join(names)}]")
    session.role = rest
    await services.keep(session)
    await services.library.set_role(session.id, rest)
    return Result(f"The role is {rest} from the next prompt on.")


async def model(rest: str, session: Session, services: Services) -> Result:
    """Show the model, or use another one for this conversation from the next request on, also within a turn."""
    settings = services.handles.config.settings(session.root)
    listed = await services.handles.model.listed(settings)
    if not rest:
        used = session.model or services.standing(session.id).model
        used = used or "The configured one; its name stands in the first answer."
        return Result("\n".join([used, *_offer(listed), "/model NAME takes another one; `smith models` lists them."]))
    doubt = "" if listed.has(rest) else _doubt(rest, listed)
    if doubt and listed.is_whole:
        raise failure("schema", "unknown_model", f"{doubt} `smith models` reads and lists them anew.")
    provider = await services.handles.model.chosen(settings)
    session.model, session.provider = rest, provider
    await services.keep(session)
    await services.library.set_model(session.id, rest, provider)
    return Result(" ".join(filter(None, (f"The model is {rest} from the next request on.", doubt))))


def _offer(listed: Listed) -> list[str]:
    """The first models of a provider in a line, if any is known."""
    if not listed.names:
        return []
    more = len(listed.names) - _MOST_MODELS
    tail = f" and {more} more" if more > 0 else ""
    return [f"{listed.provider} offers {', '.join(listed.names[:_MOST_MODELS])}{tail}."]


def _doubt(name: str, listed: Listed) -> str:
    near = listed.near(name)
    meant = f" Did you mean {', '.join(near)}?" if near else ""
    known = "offers no" if listed.is_whole else "is not known to offer a"
    return f"{listed.provider} {known} model {printable(name)}.{meant}"


async def rename(rest: str, session: Session, services: Services) -> Result:
    """Give the conversation another title."""
    if not rest:
        raise failure("schema", "invalid_arguments", "usage: /rename <title>")
    await services.sessions.rename(session.id, rest)
    return Result(f"This conversation is called {rest!r}.")


async def clear(rest: str, session: Session, services: Services) -> Result:
    """Empty the conversation; its usage and its notes stay."""
    _idle(session)
    count = await services.clear(session)
    return Result(f"{_messages(count)} {'is' if count == 1 else 'are'} gone.", {"conversation": session.id})


async def compact(rest: str, session: Session, services: Services) -> Result:
    """Let the model sum up what lies behind; everything stays stored and can be read."""
    record = await services.compact(session)
    if not record.steps:
        return Result("There is nothing that could be shortened.")
    told = {"summary": len(record.covered), "dropped": len(record.dropped)}
    steps = ", ".join(f"{name} ({_messages(told[name])})" if name in told else name for name in record.steps)
    return Result(
        f"From {record.before:,} to {record.after:,} tokens: {steps}.",
        {"before": record.before, "after": record.after, "steps": list(record.steps)},
    )


def _option(name: str, rest: str) -> tuple[bool, str]:
    """Whether the first word is that option, and what follows."""
    first, *left = rest.split(maxsplit=1) or [""]
    return (True, left[0] if left else "") if first == name else (False, rest.strip())


def _idle(session: Session) -> None:
    if session.busy:
        raise failure("policy", "turn_active", "A turn is running. Cancel it first.")


def _row(header: Header) -> str:
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(header.updated))
    return f"{header.id[:8]}  {day}  {_messages(header.message_count, 4):<13}  {header.title or '(empty)'}"


def _messages(count: int, width: int = 0) -> str:
    return f"{count:>{width}} {'message' if count == 1 else 'messages'}"
