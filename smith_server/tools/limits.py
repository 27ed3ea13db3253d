"""What bounds the commands of a turn."""

from msgspec import Struct


class Limits(Struct, frozen=True):
    """What bounds commands: seconds after which one goes on in the background, jobs at once, bytes that are kept."""

    seconds: float = 120.0
    jobs: int = 10
    keep: int = 262_144

    @property
    def told(self) -> str:
        """What the model is told of them."""
        return f"After {self.seconds:g} s without a timeout it goes on in the background."
