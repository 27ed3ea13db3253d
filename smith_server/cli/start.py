"""What commands begin with: options from the words, the folder, the services while they are open."""

import argparse
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from smith_server.cli.garbage import collect_later
from smith_server.config.paths import places, project_root
from smith_server.config.trees import over
from smith_server.core.errors import AgentFailure, failure
from smith_server.runtime.composition import compose
from smith_server.runtime.configured import wish_to_think
from smith_server.runtime.handles import Face
from smith_server.runtime.options import Options
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session


def options_from(
    words: argparse.Namespace, *, resume: bool | str | None, more: dict[str, Any] | None = None
) -> Options:
    """How this process runs: places, environment, and the flags as settings; `resume` may name a conversation."""
    found = places(os.environ, Path.home())
    flags: dict[str, Any] = dict(more or {})
    if words.provider:
        flags["defaults"] = {"provider": words.provider}
    if (think := getattr(words, "think", None)) is not None:
        flags = over(flags, wish_to_think(think))
    if (limit := getattr(words, "max_budget_usd", None)) is not None:
        flags["max_budget_usd"] = limit
    file = Path(words.config) if words.config else None
    named, resumes = (resume, True) if isinstance(resume, str) else ("", resume)
    return Options(found, dict(os.environ), flags, file, resumes, named, model=words.model)


def here(*, project: bool = False) -> Path:
    """The folder that the command was called in, or its project. Raises a `policy` failure when it is gone."""
    try:
        folder = Path.cwd()
    except FileNotFoundError:
        raise failure("policy", "no_folder", "The folder you are in does not exist any more. Go to another.") from None
    return project_root(folder) if project else folder


@asynccontextmanager
async def opened(options: Options, face: Face) -> AsyncIterator[Services]:
    """The services while they are open; all that was begun is stopped and stored at the end."""
    collect_later()
    services = await compose(options, face)
    try:
        yield services
    finally:
        await services.close("the command has ended")


async def begun(services: Services, words: argparse.Namespace, note: Callable[[str], None]) -> Session:
    """The conversation of the project to talk in, or with `-c` the last one, also when another process has it.

    With `--resume` the one whose id begins so, of whatever project. Raises schema/`not_found` or `ambiguous`.
    """
    root = here(project=True)
    if words.conversation:
        return await services.sessions.get(await _named(services, words.conversation), root)
    last = await services.library.last(root) if words.resume else ""
    if words.resume and not last:
        note("smith: this project has no conversation to go on with; this is a new one.")
    return await services.sessions.get(last, root)


async def _named(services: Services, beginning: str) -> str:
    """The id that begins so; where there is none, what lists them from a shell is told."""
    try:
        return (await services.library.find(beginning)).id
    except AgentFailure as problem:
        if problem.error.code != "not_found":
            raise
    text = f"There is no conversation {beginning!r}. In its project, `smith run /history` lists them."
    raise failure("schema", "not_found", text)
