"""What a conversation has cost: the account that its turns share, brought up to what is stored."""

import logging
from functools import partial

from smith_server.core.account import Account
from smith_server.core.errors import AgentFailure
from smith_server.store import usage
from smith_server.store.db import Database

log = logging.getLogger(__name__)


async def catch_up(account: Account, database: Database, conversation: str) -> None:
    """Take in what other processes put on it. What this one has not stored yet stays."""
    try:
        stored = await database.call(partial(usage.total, conversation=conversation))
    except AgentFailure as problem:
        log.warning("what %s has cost is not known: %s", conversation, problem)
        return
    if stored.requests > account.total.requests:
        account.total = stored
