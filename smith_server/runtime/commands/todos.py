"""`/todos`: the plan of this conversation."""

import msgspec

from smith_server.core.todos import in_words
from smith_server.runtime.commands.result import Result
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session


async def todos(rest: str, session: Session, services: Services) -> Result:
    """The steps that the model has written down, and how far it is."""
    plan = await services.todos(session)
    return Result(in_words(plan), {"todos": msgspec.to_builtins(plan)})
