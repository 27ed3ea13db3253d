"""What a conversation has used, its children and summaries included, while it goes on. No store in it."""

from collections.abc import Callable

from msgspec import Struct, field

from smith_server.core.messages import Usage
from smith_server.core.ports import Done, Failed

Bill = Callable[[Done | Failed], Usage]
"""What the request used and cost that ended with this answer."""


def counted(answer: Done | Failed) -> Usage:
    """The tokens that were reported, and the request itself; nobody asks what it cost."""
    return (answer.usage or Usage()) + Usage(requests=1)


class Account(Struct):
    """All that a conversation has used so far, in earlier processes too."""

    total: Usage = Usage()


class Meter(Struct, frozen=True):
    """Puts requests of one model on the account of its conversation."""

    bill: Bill = counted
    account: Account = field(default_factory=Account)

    @property
    def spent(self) -> float:
        """US dollars that the conversation has cost so far, as far as that is known."""
        return self.account.total.cost

    def charge(self, answer: Done | Failed) -> Usage:
        """What the request of this answer used; it is on the account from now on."""
        used = self.bill(answer)
        self.account.total = self.account.total + used
        return used
