"""The file format of git's configuration, read without git: no program is run, no other file included. Pure."""

import re

_NOTHING = re.compile(r"(?:[\s\ufeff]+|[#;][^\n]*)*")
_HEADER = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:(=)[ \t]*|(?=[#;\n]|\Z))")
_LINE = re.compile(r"[^\n]*")
_PIECE = re.compile(r'[^"\\#;\n]+|"|\\\n|\\.|[#;]')
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def values(text: str, section: str, subsection: str, name: str) -> list[str]:
    """All values of `[section "subsection"] name`, in the order of the file; a bare name is `true`.

    Section and name have no case, the subsection does. A line that git would refuse is passed over.
    """
    text = text.replace("\r\n", "\n")
    wanted = (section.lower(), subsection)
    found: list[str] = []
    inside, at = False, 0
    while (at := _end(_NOTHING, text, at)) < len(text):
        if header := _HEADER.match(text, at):
            inside, at = _named(header) == wanted, header.end()
        elif key := _KEY.match(text, at):
            value, at = _value(text, key.end()) if key[2] else ("true", key.end())
            if inside and key[1].lower() == name.lower():
                found.append(value)
        else:
            at = _end(_LINE, text, at)
    return found


def _named(header: re.Match[str]) -> tuple[str, str]:
    if header[2] is not None:
        return header[1].lower(), re.sub(r"\\(.)", r"\1", header[2])
    section, _, subsection = header[1].lower().partition(".")
    return section, subsection


def _value(text: str, at: int) -> tuple[str, int]:
    """The value that begins at `at`, and where it ends. Blanks at its end count only within quotes."""
    pieces: list[str] = []
    quoted, length, solid = False, 0, 0
    while piece := _PIECE.match(text, at):
        at, token = piece.end(), piece[0]
        if token in "#;" and not quoted:
            return "".join(pieces)[:solid], _end(_LINE, text, at)
        if token == '"':
            quoted = not quoted
        elif token != "\\\n":
            escaped = token[0] == "\\"
            said = _ESCAPES.get(token[1], token[1]) if escaped else token
            if kept := len(said if quoted or escaped else said.rstrip()):
                solid = length + kept
            pieces.append(said)
            length += len(said)
    return "".join(pieces)[:solid], at


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
