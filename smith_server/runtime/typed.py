"""A line that a person typed: a command, a prompt, or the wish to leave. The one rule of all faces in this process."""

_LEAVING = ("exit", "quit", "/exit", "/quit")


def is_command(line: str) -> bool:
    """Whether a line is a command and no prompt."""
    return line.startswith("/") and not line.startswith("//")


def spoken(line: str) -> str:
    """The prompt that a line means: of two slashes at its beginning the first only says that it is no command."""
    return line[1:] if line.startswith("//") else line


def leaves(line: str) -> bool:
    """Whether a line only says that its person leaves; upper case and blanks around it do not matter."""
    return line.strip().lower() in _LEAVING
