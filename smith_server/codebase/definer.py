"""The definitions of one text, by grammar or by the look of its lines. Pure, and heavy: not for the event loop."""

from smith_server.codebase.grammars import GRAMMARS
from smith_server.codebase.heuristic import symbols_by_lines
from smith_server.codebase.languages import dialect, language_of
from smith_server.codebase.symbol import Symbol

_SHELLS = (b"bash", b"/sh", b"zsh", b"ksh", b"env sh")


def definitions(path: str, source: bytes) -> list[Symbol]:
    """What the file named `path` defines, in its order; nothing for a binary one."""
    if b"\0" in source[:8192]:
        return []
    language = dialect(language_of(path), source) or _by_first_line(source)
    if language in GRAMMARS:
        from smith_server.codebase.parse import symbols_of  # noqa: PLC0415 - tree-sitter is loaded when needed

        return symbols_of(source, language)
    return symbols_by_lines(source.decode("utf-8", "replace"), language)


def by_lines(path: str, source: bytes) -> list[Symbol]:
    """What the lines of a text seem to begin, whatever its language; nothing for a binary one."""
    if b"\0" in source[:8192]:
        return []
    return symbols_by_lines(source.decode("utf-8", "replace"), language_of(path))


def _by_first_line(source: bytes) -> str:
    if not source.startswith(b"#!"):
        return ""
    first = source[: source.find(b"\n")]
    if any(shell in first for shell in _SHELLS):
        return "bash"
    names = {b"python": "python", b"ruby": "ruby", b"node": "javascript", b"lua": "lua", b"perl": "perl"}
    return next((language for name, language in names.items() if name in first), "")
