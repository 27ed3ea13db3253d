"""Whether smith would find a model to talk to in the current folder: exit code 0 if so, else 1.

Runs in the private environment; any trouble with the settings is left for smith itself to tell.
"""

import asyncio
import os
import sys
from pathlib import Path

from smith_server.config.layers import Sources, read
from smith_server.config.paths import places, project_root
from smith_server.core.errors import AgentFailure
from smith_server.llm.probe import answers
from smith_server.runtime.provider_choice import Surroundings, choose_provider


async def main() -> int:
    """Choose as a turn would."""
    where = places(os.environ, Path.home())
    sources = Sources(where, project_root(Path.cwd()), os.environ, None, {}, {})
    try:
        await choose_provider(read(sources).settings, Surroundings(os.environ, answers, where.config_file))
    except AgentFailure as problem:
        return 1 if problem.error.code == "no_provider" else 0
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
