"""File patterns as people write them for ignore files, as expressions that Python and ripgrep both read. Pure."""

import re

_MAGIC = frozenset("*?[{")


def is_glob(query: str) -> bool:
    """Whether a query is a pattern and no part of a name."""
    return not _MAGIC.isdisjoint(query)


def path_pattern(glob: str) -> str:
    """An expression for a whole relative path, to be anchored at both ends, in which a dot is any character.

    `*` and `?` stay inside one component, `**` spans any number, `{a,b}` is a choice, `[ab]` a set. A
    pattern without a slash matches in every folder, one that ends with a slash all below it.
    """
    glob = glob.removeprefix("./")
    anchored = "/" in glob.rstrip("/")
    glob = glob.removeprefix("/")
    if glob.endswith("/"):
        glob += "**"
    head = "" if anchored else "(?:.*/)?"
    return head + _translated(glob)


def _translated(glob: str) -> str:
    out: list[str] = []
    at, depth = 0, 0
    while at < len(glob):
        char = glob[at]
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
            out.append("(?:.*/)?")
            at += 3
            continue
        if char == "*":
            stars = len(glob[at:]) - len(glob[at:].lstrip("*"))
            out.append(".*" if stars > 1 else "[^/]*")
            at += stars
            continue
        piece, at = _piece(glob, at, depth)
        depth += (piece == "(?:") - (piece == ")")
        out.append(piece)
    return "".join(out) + ")" * depth


def _piece(glob: str, at: int, depth: int) -> tuple[str, int]:
    """The expression of one character or set at `at`, and where it ends."""
    char = glob[at]
    if char == "?":
        return "[^/]", at + 1
    if char == "[" and (end := glob.find("]", at + 2)) > 0:
        inner = glob[at + 1 : end]
        negated = inner[0] in "!^"
        members = re.sub(r"([\\\[\]^&~|])", r"\\\1", inner[negated:])
        return _set(members, negated), end + 1
    if char == "{" and _closes(glob, at):
        return "(?:", at + 1
    if depth and char in ",}":
        return "|" if char == "," else ")", at + 1
    if char == "\\" and at + 1 < len(glob):
        return re.escape(glob[at + 1]), at + 2
    return re.escape(char), at + 1


def _set(members: str, negated: bool) -> str:
    text = rf"[^/{members}]" if negated else f"[{members}]"
    try:
        re.compile(text)
    except re.error:
        return re.escape(f"[{members}]")
    return text


def _closes(glob: str, at: int) -> bool:
    """Whether the brace at `at` seems to be closed by one of its own; it may stand escaped or in a set."""
    depth = 0
    for char in glob[at:]:
        depth += (char == "{") - (char == "}")
        if depth == 0:
            return True
    return False
