"""`/cmd`: a shell command for the person. No model hears of it, unless it is to go with the next prompt."""

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import failure
from smith_server.core.tool import ToolContext, ToolResult
from smith_server.runtime.commands.result import Result
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session
from smith_server.tools.bash import BashArguments

USAGE = "usage: /cmd <shell line>; with /cmd+ the next prompt carries what it wrote"


async def cmd(rest: str, session: Session, services: Services) -> Result:
    """Run a line in the folder of the conversation, within the limits of the tool `bash`, and show what it wrote."""
    done = await _run(rest, session, services)
    return Result(done.content, {"ok": done.ok, "summary": done.summary})


async def attached(rest: str, session: Session, services: Services) -> Result:
    """The same, and the next prompt carries line and output."""
    done = await _run(rest, session, services)
    session.line.attach(f"[The user ran a command: {rest}]\n{done.content}")
    text = f"{done.content}\n[The next prompt carries this.]"
    return Result(text, {"ok": done.ok, "summary": done.summary})


async def _run(line: str, session: Session, services: Services) -> ToolResult:
    if not line.strip():
        raise failure("schema", "invalid_arguments", USAGE)
    shell = services.shell(session)

    async def work(token: CancelToken) -> ToolResult:
        context = ToolContext("", token, session.root, lambda text: None)
        return await shell.run(BashArguments(line), context)

    return await session.errands.run(f"$ {line}", work)
