"""`smith.jobs`: the commands that run in the background, for the person."""

from typing import Any

from smith_server.lsp.arguments import decode, unknown_operation
from smith_server.lsp.protocol import JobsArguments
from smith_server.lsp.roots import Roots
from smith_server.lsp.wire import Arrival
from smith_server.proc.jobs import Jobs as Running
from smith_server.runtime import jobs
from smith_server.runtime.services import Services


class Jobs:
    """The command, for one connection."""

    def __init__(self, services: Services, roots: Roots) -> None:
        self._services = services
        self._roots = roots

    async def jobs(self, argument: dict[str, Any], arrival: Arrival) -> Any:
        """List, read or end; what a model has not seen yet stays new for it."""
        args = decode(argument, JobsArguments)
        session = await self._services.sessions.get(args.conversation, self._roots.first())
        answer = await _answer(args, self._services.jobs(session), self._services.mask(session))
        return {"conversation": session.id, **answer}


async def _answer(args: JobsArguments, running: Running, mask: jobs.Mask) -> dict[str, Any]:
    match args.op:
        case "list":
            return {"jobs": [jobs.facts(job, mask) for job in running.listed()]}
        case "output":
            return jobs.output(running.get(args.id), args.since, mask)
        case "kill":
            return await jobs.kill(running, args.id, mask)
        case _:
            raise unknown_operation(args.op, ("list", "output", "kill"))
