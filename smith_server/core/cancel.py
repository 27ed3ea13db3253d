"""The tree of cancel tokens. Marking a token marks everything below it; nothing is torn down.

No event loop in here: whoever waits registers a callback (`core/interrupt.py` does).
"""

from collections.abc import Callable

from smith_server.core.errors import Cancelled


class CancelToken:
    """A mark that a piece of work should stop, seen by that work at its next check."""

    def __init__(self) -> None:
        self.requested = False
        self._children: list[CancelToken] = []
        self._callbacks: list[Callable[[], None]] = []
        self._parent: CancelToken | None = None

    def child(self) -> "CancelToken":
        """A token below this one; born cancelled when this one already is."""
        token = CancelToken()
        token._parent = self
        token.requested = self.requested
        self._children.append(token)
        return token

    def request(self) -> None:
        """Mark this token and all below it; a second time changes nothing."""
        if self.requested:
            return
        self.requested = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()
        for token in list(self._children):
            token.request()

    def check(self) -> None:
        """Raise `Cancelled` when a stop was asked for."""
        if self.requested:
            raise Cancelled

    def on_request(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` once, at once if already marked; the answer takes it back."""
        if self.requested:
            callback()
            return _nothing
        self._callbacks.append(callback)
        return lambda: self._forget(callback)

    def release(self) -> None:
        """Leave the tree, when the work of this token is over."""
        if self._parent is not None and self in self._parent._children:
            self._parent._children.remove(self)
        self._parent = None

    def _forget(self, callback: Callable[[], None]) -> None:
        if callback in self._callbacks:
            self._callbacks.remove(callback)


def _nothing() -> None:
    return None
