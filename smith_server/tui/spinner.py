"""The sign that something is waited for: which picture of it to show at a time."""

INTERVAL = 0.1
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
STILL = "·"
"""Instead of it while something else moves."""


def frame(seconds: float) -> str:
    """The picture after so many seconds."""
    return _FRAMES[int(seconds / INTERVAL) % len(_FRAMES)]
