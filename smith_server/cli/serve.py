"""`smith serve`: the language server. Takes the standard streams before anything else can print."""

import argparse
import sys

from smith_server.lsp.pipe import claim


def serve(words: argparse.Namespace) -> int:
    """Serve one client until it is gone; the exit code."""
    inward, outward = claim()
    import asyncio

    from smith_server.cli.log import start_log
    from smith_server.cli.streams import FAILED, leave

    start_log()
    if (problem := _no_folder()) is not None:
        print(f"smith: {problem}", file=sys.stderr)
        leave(FAILED)
    leave(asyncio.run(_serve(words, inward, outward)))


def _no_folder() -> str | None:
    """Why there is no folder to work in, if there is none."""
    from smith_server.cli.start import here
    from smith_server.core.errors import AgentFailure

    try:
        here()
    except AgentFailure as problem:
        return problem.error.message
    return None


async def _serve(words: argparse.Namespace, inward: int, outward: int) -> int:
    from smith_server.cli.garbage import collect_later
    from smith_server.lsp.server import Commands, Connection, Server

    collect_later()

    async def load(connection: Connection) -> Commands:
        from smith_server.cli.start import options_from
        from smith_server.lsp.commands import LspCommands, LspFace
        from smith_server.runtime.composition import compose

        face = LspFace(connection)
        services = await compose(
            options_from(words, resume=_resume(connection.options), more=_settings(connection.options)), face
        )
        return LspCommands(services, connection, face)

    return await Server(inward, outward, load).run()


def _resume(options: dict[str, object]) -> bool | str:
    """What `initializationOptions` say to go on with: `project`, `never`, or a conversation by the begin of its id."""
    asked = options.get("resume")
    return asked if isinstance(asked, str) and asked not in ("", "project", "never") else asked != "never"


def _settings(options: dict[str, object]) -> dict[str, object]:
    """The settings among `initializationOptions`: what the editor's own configuration says."""
    settings = options.get("settings")
    return dict(settings) if isinstance(settings, dict) else {}
