"""The definitions of a text by the look of its lines, for languages that have no grammar here. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from smith_server.codebase.symbol import SIGNATURE, Symbol

_MOST_LINES = 200_000

_NAME = r"(?P<name>[^\s()\[\]]+)"
_MODES = "minor|derived|globalized-minor|generic|compilation"
_LISP = (
    (
        rf"\(\s*(?:cl-)?(?:defun|defsubst|defgeneric|defmethod|defalias|define-inline|ert-deftest)\s+'?{_NAME}",
        "function",
    ),
    (rf"\(\s*(?:cl-)?defmacro\*?\s+{_NAME}", "macro"),
    (rf"\(\s*(?:cl-)?(?:defstruct|defclass|deftype)\s+\(?{_NAME}", "class"),
    (rf"\(\s*(?:define-(?:{_MODES})-mode|transient-define-\w+)\s+{_NAME}", "function"),
    (rf"\(\s*(?:defvar|defvar-local|defvar-keymap|defface|defgroup|defcustom)\s+{_NAME}", "variable"),
    (rf"\(\s*(?:defconst|defconstant|defparameter)\s+{_NAME}", "constant"),
    (rf"\(\s*(?:define|def|defn-?|defprotocol|defrecord|ns)\s+\(?{_NAME}", "function"),
)
_BEFORE = (
    "public|private|protected|internal|static|final|abstract|open|override|export|default|async|pub|sealed|data|"
    "inline|virtual|partial|suspend|unsafe|extern|const|local|impure|pure|elemental|recursive"
)
_WORDS = rf"(?:(?:{_BEFORE})\s+)*"
_IDENTIFIER = r"(?P<name>[A-Za-z_$][\w$]*)"
_FUNCTIONS = "fun|func|function!?|fn|sub|proc|def|defp|defmacro|subroutine|method|task"
_GENERAL = (
    (rf"{_WORDS}(?:class|object|record|actor|trait|struct|union)\s+{_IDENTIFIER}", "class"),
    (rf"{_WORDS}(?:interface|protocol)\s+{_IDENTIFIER}", "interface"),
    (rf"{_WORDS}enum\s+(?:class\s+)?{_IDENTIFIER}", "enum"),
    (
        rf"{_WORDS}(?:{_FUNCTIONS})\s+(?:<[^>]*>\s*)?(?:[\w.]+\.)?(?P<name>[A-Za-z_$#][\w$#:]*[?!]?)",
        "function",
    ),
    (rf"{_WORDS}(?:module|namespace|package|defmodule|library|unit)\s+(?P<name>[A-Za-z_$][\w$.:]*)", "module"),
    (rf"{_WORDS}(?:type|typealias|typedef|newtype|data)\s+{_IDENTIFIER}", "type"),
    (r"#\s*define\s+(?P<name>[A-Za-z_]\w*)", "macro"),
)
_SPECIAL: Mapping[str, Sequence[tuple[str, str]]] = MappingProxyType(
    {
        "elisp": _LISP,
        "lisp": _LISP,
        "clojure": _LISP,
        "markdown": ((r"(?P<name>#{1,6}\s+\S.*?)\s*#*$", "heading"),),
        "make": ((r"(?P<name>[A-Za-z0-9_./%-]+(?:\s+[A-Za-z0-9_./%-]+)*)\s*:(?![=:])", "function"),),
        "sql": (
            (
                r"(?i:create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+|unique\s+|virtual\s+)*"
                r"(?:table|view|index|function|procedure|trigger|type)\s+(?:if\s+not\s+exists\s+)?)(?P<name>[\w.\"`]+)",
                "type",
            ),
        ),
        "proto": (
            (r"(?:message|service)\s+(?P<name>\w+)", "class"),
            (r"rpc\s+(?P<name>\w+)", "method"),
            (r"enum\s+(?P<name>\w+)", "enum"),
        ),
        "haskell": (
            (r"(?P<name>[a-z_][\w']*)\s*::", "function"),
            (r"(?:data|newtype|type|class)\s+(?:\w+\s*=>\s*)?(?P<name>[A-Z][\w']*)", "type"),
        ),
        "terraform": ((r"(?P<name>(?:resource|data|module|variable|output|provider)\s+\"[^{]*\")\s*\{", "variable"),),
        "css": (),
    }
)


def symbols_by_lines(text: str, language: str) -> list[Symbol]:
    """The definitions that lines seem to begin, with where they seem to end."""
    rules = [(re.compile(pattern), kind) for pattern, kind in _SPECIAL.get(language, _GENERAL)]
    lines = text.split("\n")[:_MOST_LINES]
    found = [each for number, line in enumerate(lines, 1) if (each := _defined(line, number, rules))]
    return list(_nested(found, lines, headings=language == "markdown"))


def _defined(line: str, number: int, rules: Sequence[tuple[re.Pattern[str], str]]) -> tuple[int, Symbol] | None:
    """What the line defines, with how far it is indented."""
    bare = line.lstrip()
    if not bare or len(line) > 2000:
        return None
    for pattern, kind in rules:
        if match := pattern.match(bare):
            name = match["name"]
            indent = len(name) - len(name.lstrip("#")) if kind == "heading" else len(line) - len(bare)
            name = name.lstrip("# ").strip() if kind == "heading" else name.strip('"`')
            return indent, Symbol(name, kind, number, number, "", bare.rstrip()[:SIGNATURE])
    return None


def _nested(found: Sequence[tuple[int, Symbol]], lines: Sequence[str], *, headings: bool) -> Iterator[Symbol]:
    """Each with its end, which is before the next one that is not indented more, and with what it lies in."""
    ends = _ends(found, len(lines))
    around: list[tuple[int, str]] = []
    for (indent, symbol), end in zip(found, ends, strict=True):
        while around and around[-1][0] >= indent:
            around.pop()
        while end > symbol.line and (not lines[end - 1].strip() or (not headings and _is_comment(lines[end - 1]))):
            end -= 1
        parent = around[-1][1] if around else ""
        kind = "method" if symbol.kind == "function" and parent and not headings else symbol.kind
        yield Symbol(symbol.name, kind, symbol.line, end, parent, symbol.text, len(around))
        around.append((indent, symbol.name))


def _ends(found: Sequence[tuple[int, Symbol]], last: int) -> Sequence[int]:
    """The line before the next definition that is not indented more, for each."""
    ends = [last] * len(found)
    waiting: list[int] = []
    for index, (indent, symbol) in enumerate(found):
        while waiting and found[waiting[-1]][0] >= indent:
            ends[waiting.pop()] = symbol.line - 1
        waiting.append(index)
    return ends


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith((";", "#", "//", "--", "@"))
