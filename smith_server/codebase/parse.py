"""The definitions of a file by its syntax tree. The only module that loads tree-sitter, and not before it is needed."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from smith_server.codebase.grammars import GRAMMARS
from smith_server.codebase.symbol import CONTAINERS, SIGNATURE, Symbol

_QUERIES = Path(__file__).with_name("queries")
_CAPITALS = r"[A-Z][A-Z0-9_]*_[A-Z0-9_]*"
_HEAD = r"(?:(?:const|static|inline|struct|unsigned|class|virtual|explicit)[ \t]+)*(?!operator\b)[A-Za-z_][\w:<>, ]*"
_FUNCTION_FOLLOWS = rf"(?=[ \t\n]+{_HEAD}[ \t*&\n]+(?:\w+::)*~?\w+[ \t\n]*\()"
_CLASS_FOLLOWS = r"(?=\s+[A-Za-z_]\w*\s*[:{])"
_MACRO = re.compile(
    rf"^(?:{_CAPITALS}|[A-Z]{{3,}}API|EXPORT|INLINE|STATIC|EXTERN){_FUNCTION_FOLLOWS}"
    rf"|(?:(?<=\bclass )|(?<=\bstruct )){_CAPITALS}{_CLASS_FOLLOWS}".encode(),
    re.MULTILINE,
)
_HOLDING_NOTHING = ("type", "macro", "prototype", "constant")
_METHODS_OF = CONTAINERS - {"module", "namespace", "type", "enum"}


class _Reader(NamedTuple):
    parser: Any
    query: Any
    cursor: Any


class _Found(NamedTuple):
    """A match of a query, as places in the source; `line` is that of the name, from 0."""

    start: int
    end: int
    line: int
    last: int
    at: int
    name: str
    parent: str
    kind: str


def symbols_of(source: bytes, language: str) -> list[Symbol]:
    """The definitions in `source`, in its order. `language` is a key of `GRAMMARS`."""
    reader = _reader(language)
    tree = reader.parser.parse(_without_macros(source) if language in ("c", "cpp") else source)
    found: dict[int, _Found] = {}
    for _, captures in sorted(reader.cursor(reader.query).matches(tree.root_node), key=lambda match: match[0]):
        each = _found(captures, source)
        if each is not None:
            found.setdefault(each.at, each)
    return list(_nested(sorted(found.values(), key=lambda each: (each.start, -each.end, each.at)), source))


def _without_macros(source: bytes) -> bytes:
    """C and C++ with blanks for macros that stand in front of a definition: no grammar can know that they are none."""
    return _MACRO.sub(lambda found: b" " * len(found[0]), source)


def _found(captures: dict[str, list[Any]], source: bytes) -> _Found | None:
    names = captures.get("name")
    label = next((label for label in captures if label.startswith(("definition.", "scope."))), "")
    if not names or not label:
        return None
    name, node = names[0], captures[label][0]
    text = source[name.start_byte : name.end_byte].decode("utf-8", "replace").strip("'\"")
    parents = captures.get("parent")
    parent = source[parents[0].start_byte : parents[0].end_byte].decode("utf-8", "replace") if parents else ""
    if "::" in text and "operator" not in text:
        scope, _, text = text.rpartition("::")
        parent = f"{parent}::{scope}" if parent else scope
    return _Found(
        node.start_byte,
        node.end_byte,
        name.start_point[0],
        node.end_point[0],
        name.start_byte,
        text,
        parent,
        label.partition(".")[2],
    )


def _nested(found: Sequence[_Found], source: bytes) -> Iterator[Symbol]:
    """Symbols with what they lie in; a function right in a class is a method."""
    around: list[tuple[_Found, int]] = []
    for each in found:
        while around and around[-1][0].end < each.end:
            around.pop()
        outer, depth = around[-1] if around else (None, 0)
        kind = each.kind
        if kind == "impl":
            around.append((each, depth))
            continue
        parent = each.parent or (outer.name if outer is not None else "")
        if kind == "function" and outer is not None and outer.kind in (*_METHODS_OF, "impl"):
            kind = "method"
        yield Symbol(each.name, kind, each.line + 1, each.last + 1, parent, _text(each, source), depth)
        if each.kind not in _HOLDING_NOTHING:
            around.append((each, depth + 1))


def _text(each: _Found, source: bytes) -> str:
    """The line of the name; of a very long one, what begins with the definition."""
    start = source.rfind(b"\n", 0, each.at) + 1
    if each.at - start > SIGNATURE:
        start = max(each.start, start)
    end = source.find(b"\n", each.at)
    line = source[start : end if end >= 0 else len(source)][: 4 * SIGNATURE]
    return line.decode("utf-8", "replace").strip()[:SIGNATURE]


@cache
def _reader(language: str) -> _Reader:
    from tree_sitter import Language, Parser, Query, QueryCursor  # noqa: PLC0415 - heavy, and wrapped here

    grammar = GRAMMARS[language]
    spoken = Language(getattr(import_module(grammar.module), grammar.function)())
    own = [(_QUERIES / f"{name}.scm").read_text("utf-8") for name in grammar.own]
    theirs = [files(module).joinpath("queries/tags.scm").read_text("utf-8") for module in grammar.tags]
    text = "\n".join([*own, *theirs])
    query = Query(spoken, text)
    data = text.encode()
    for index in range(query.pattern_count):
        pattern = data[query.start_byte_for_pattern(index) : query.end_byte_for_pattern(index)].decode()
        if _is_dropped(pattern, query.start_byte_for_pattern(index) >= len("\n".join(own).encode()), grammar.dropped):
            query.disable_pattern(index)
    return _Reader(Parser(spoken), query, QueryCursor)


def _is_dropped(pattern: str, theirs: bool, dropped: Sequence[str]) -> bool:
    """Whether a pattern is of no use: it finds uses, or what our own patterns find better."""
    labels = re.findall(r"@(definition|scope)\.(\w+)", pattern)
    return not labels or (theirs and any(label in dropped for _, label in labels))
