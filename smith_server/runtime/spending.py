"""What a conversation has cost: the account that its turns share, brought up to what is stored."""

import logging
from functools import partial

from smith_server.core.errors import AgentFailure
from smith_server.runtime.kept import Kept
from smith_server.store import usage
from smith_server.store.db import Database

log = logging.getLogger(__name__)


async def catch_up(kept: Kept, database: Database) -> None:
    """Take in what the conversation had cost when it was opened: from then on all that it costs is on its account.

    While it is open for writing nobody else puts anything on it.
    """
    if kept.is_counted:
        return
    conversation, account = kept.session.id, kept.account
    try:
        stored = await database.call(partial(usage.total, conversation=conversation))
    except AgentFailure as problem:
        log.warning("what %s has cost is not known: %s", conversation, problem)
        return
    kept.is_counted = True
    if stored.requests > account.total.requests:
        account.total = stored
