"""smith: a coding agent in one process, with an editor protocol in front of it."""

__version__ = "0.1.0"
