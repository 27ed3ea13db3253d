"""`dispatch`: hands work to a sub-agent with a conversation of its own and gives back its report."""

from typing import Annotated

from msgspec import Meta, Struct

from smith_server.core.ports import Dispatcher, Job
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.text import text_of


class DispatchContext(Struct, frozen=True, forbid_unknown_fields=True):
    user_request_summary: str = ""
    role_instructions: str = ""


class DispatchArguments(Struct, frozen=True, forbid_unknown_fields=True):
    role: Annotated[str, Meta(description="worker or explorer")]
    task: Annotated[str, Meta(pattern=r"\S")]
    context: DispatchContext = DispatchContext()
    files: tuple[Annotated[str, Meta(pattern=r"\S")], ...] = ()


class Dispatch:
    """Asks the children of one turn, or of one child."""

    name = "dispatch"
    effect = Effect.DELEGATE
    args = DispatchArguments
    text = text_of(__file__)

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    async def preview(self, args: DispatchArguments, context: ToolContext) -> Preview:
        return Preview(f"{args.role}: {args.task}")

    async def run(self, args: DispatchArguments, context: ToolContext) -> ToolResult:
        files = tuple(sorted(set(args.files)))
        about = args.context
        job = Job(args.role, args.task, about.user_request_summary, about.role_instructions, files)
        return await self._dispatcher.dispatch(job, context)
