"""Commands that show something of the conversation."""

import time

import msgspec

from smith_server.core.errors import failure
from smith_server.core.messages import AssistantMessage, Message, ToolMessage, Usage, UserMessage
from smith_server.llm.pricing import cost_of
from smith_server.runtime.commands.result import Result
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session
from smith_server.store.excerpt import Excerpt


async def usage(rest: str, session: Session, services: Services) -> Result:
    """What the whole conversation used and cost, earlier processes included: itself, its children by role, the sum;

    and what the project cost, today and in all."""
    used = await services.library.usage_by_role(session.id)
    total = {"total": sum(used.values(), Usage())}
    columns = {**used, **total} if len(used) > 1 else total
    lines = ["".join([f"{'':<12}", *(f"{who:>12}" for who in columns)])] if len(used) > 1 else []
    for name in ("requests", "input", "cache_read", "cache_write", "output"):
        lines.append(
            "".join([f"{name.replace('_', ' '):<12}", *(f"{getattr(each, name):>12,}" for each in columns.values())])
        )
    lines.append("".join([f"{'cost':<12}", *(f"{cost_of(each):>12}" for each in columns.values())]))
    days = await services.library.usage_by_day(session.root)
    today = time.strftime("%Y-%m-%d")
    project = sum((each.usage for each in days), Usage())
    of_today = sum((each.usage for each in days if each.day == today), Usage())
    lines += ["", f"this project: {cost_of(of_today)} today, {cost_of(project)} in all"]
    columns = {**columns, "today": of_today, "project": project}
    return Result("\n".join(lines), {who: msgspec.to_builtins(each) for who, each in columns.items()})


async def search(rest: str, session: Session, services: Services) -> Result:
    """Messages and memories that hold the words; `--all` looks beyond this project."""
    first, *left = rest.split(maxsplit=1) or [""]
    everywhere = first == "--all"
    words = "".join(left) if everywhere else rest.strip()
    if not words:
        raise failure("schema", "invalid_arguments", "usage: /search [--all] <words>")
    found = await services.search(words, None if everywhere else session.root)
    lines = [f"{hit.conversation[:8]} {hit.turn}  {hit.title}\n    {_shown(hit.excerpt)}" for hit in found.messages]
    lines += [f"memory {hit.id}\n    {_shown(hit.excerpt)}" for hit in found.memories]
    return Result("\n".join(lines) or "Nothing was found.")


async def context(rest: str, session: Session, services: Services) -> Result:
    """What the next request is made of, and how much of the room it takes."""
    space = await services.space(session)
    rows = [*space.parts, ("total", space.estimate)]
    lines = [f"{name:<10}{size:>10,}  {size / space.ceiling:>6.1%}" for name, size in rows]
    lines += ["", f"compacted above {space.trigger:,}, down to {space.target:,}", f"at most {space.ceiling:,} tokens"]
    lines += [
        f"{count} {text}"
        for count, text in (
            (space.elided, "results are elided"),
            (space.covered, "messages are summed up"),
            (space.dropped, "messages are left out"),
            (len(session.compactions), "compactions so far"),
        )
        if count
    ]
    return Result("\n".join(lines), msgspec.to_builtins(space))


async def prompt(rest: str, session: Session, services: Services) -> Result:
    """The system prompt that the next turn would send."""
    return Result(page=await services.system_prompt(session), title="System prompt")


async def pager(rest: str, session: Session, services: Services) -> Result:
    """The whole conversation, nothing left out."""
    return Result(page="\n\n".join(map(_section, session.talk.messages)) or "(empty)", title="Conversation")


def _shown(excerpt: Excerpt) -> str:
    return " ".join(excerpt.text.split())


def _section(message: Message) -> str:
    match message:
        case UserMessage(_, text):
            return f"## You\n\n{text}"
        case AssistantMessage():
            calls = "".join(f"\n\n`{call.name}` {call.arguments}" for call in message.calls)
            return f"## smith\n\n{message.text}{calls}"
        case ToolMessage(_, _, name, content, ok):
            return f"### {name}{'' if ok else ' (failed)'}\n\n~~~\n{content}\n~~~"
