"""Whether a matching line defines what was matched, as far as the line itself tells. Pure."""

import re

_KEYWORDS = (
    "def|class|fn|func|function|fun|sub|proc|struct|enum|union|trait|interface|protocol|type|typedef|impl|module|mod|"
    "namespace|package|macro_rules!|macro|defun|defmacro|defvar|defcustom|defconst|defsubst|cl-defun|cl-defmethod|"
    "cl-defgeneric|cl-defstruct|define-minor-mode|define-derived-mode|object|record|const|static|let|var|val|local|"
    "defmodule|defp|#define|alias"
)
_BEFORE = re.compile(
    rf"(?:^|[^\w#-])(?:{_KEYWORDS})\*?(?:<[^<>]*>)?\s+(?:mut\s+|function\s+|class\s+|struct\s+|(?:\([^()]*\)|<[^<>]*>)\s*|[\w$]+(?:\.|::|:))*"
    r"[*&\s\"'({]*$"
)
_AT = re.compile(rf"(?:{_KEYWORDS})\s*[\w$(*&]")
_ASSIGNED = re.compile(r"[\w$]*\s*(?::[^=]+)?=(?![=~>])")
_TYPED = frozenset(
    {"c", "cpp", "java", "csharp", "objc", "dart", "d", "javascript", "typescript", "tsx", "bash", "groovy"}
)
_NO_TYPE = "return|else|new|delete|throw|case|goto|await|yield|import|from|using|if|while|for|switch|assert|do|typeof"
_TYPE = re.compile(rf"(?!(?:{_NO_TYPE})\b)[A-Za-z_][\w\s:<>,*&\[\]~.@?]*[\s*&:~]$")
_HEAD = re.compile(r"[\w$]*\s*\([^;]*[^;,\s]\s*$")
_BODY = re.compile(r"[\w$]*\s*\([^;]*\)[^;()]*\{\s*\}?\s*$")


def defines(text: str, at: int, language: str = "") -> bool:
    """Whether the match at character `at` of the line `text` stands where a name is given its meaning."""
    before, behind = text[:at], text[at : at + 400]
    start = before.strip(" \t(@")
    if _BEFORE.search(before[-200:]) or (not start and _AT.match(behind)):
        return True
    if not before and _ASSIGNED.match(behind):
        return True
    if language not in _TYPED:
        return False
    if not before.strip():
        return bool(_BODY.match(behind)) and not re.match(rf"(?:{_NO_TYPE}|function|catch)\b", behind)
    return bool(_TYPE.fullmatch(before[-200:].lstrip()) and _HEAD.match(behind))
