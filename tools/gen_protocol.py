"""Writes what others know of the protocol out of `smith_server/lsp/protocol.py`: the page and the editors' constants.

`--check` writes nothing and fails when a file is not what would be written.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from smith_server.lsp import protocol

REPO = Path(__file__).resolve().parent.parent
SOURCE = "smith_server/lsp/protocol.py"
NOTE = f"Made by tools/gen_protocol.py from {SOURCE}; edit that file, not this one."

INTRO = """\
# The editor protocol

<!-- {note} -->

LSP 3.17 over stdio, with a few methods and commands of our own. A client that knows nothing of them gets
`window/showMessageRequest` for questions, `workspace/applyEdit` for edits and `$/progress` for each `smith.turn` whose
request has a `workDoneToken`; without a token in the request there is no progress.

A client announces what it can do in `initialize`: `capabilities.experimental.smith = {{"protocol": {version},
"events": true, "applyEdit": true, "now": …}}`, where `now` is its clock in Unix milliseconds. The server answers with
`experimental.smith = {{"protocol": {version}, "version": …}}`.
Of `initializationOptions` the server reads `settings`, which hold for this connection alone, and `resume`, which tells
what it goes on with: `"project"` (the default) is the last conversation of the project, `"never"` a new one, anything
else the id of a conversation, or the begin of it.

Commands go through `workspace/executeCommand` with one object as the only argument and one object as the result.
An error carries kind, code, message, retryable and data in the `data` of the JSON-RPC error. Fields that are
not named in a payload are left at their defaults. Positions are in the encoding that `initialize` settled.
"""


def names(prefix: str) -> dict[str, str]:
    """Constants of the module whose value begins with `prefix`: name in lower case → value, sorted."""
    found = {key.lower(): value for key, value in vars(protocol).items() if key.isupper() and isinstance(value, str)}
    return {key: found[key] for key in sorted(found) if found[key].startswith(prefix)}


def page() -> str:
    """`docs/protocol.md`."""
    lists = [
        "## Names",
        "Methods: " + ", ".join(f"`{value}`" for value in names("smith/").values()) + ".",
        "Commands: " + ", ".join(f"`{value}`" for value in names("smith.").values()) + ".",
        "## Payloads",
    ]
    intro = INTRO.format(note=NOTE, version=protocol.VERSION)
    return "\n\n".join([intro.rstrip(), *lists, *(_payload(struct) for struct in _structs())]) + "\n"


def lua() -> str:
    """The constants of the Neovim plug-in."""
    rows = [f"-- {NOTE}", "", "return {", f"  version = {protocol.VERSION},"]
    for table, prefix in (("method", "smith/"), ("command", "smith.")):
        rows += ["", f"  {table} = {{", *(f"    {key} = '{value}'," for key, value in names(prefix).items()), "  },"]
    return "\n".join([*rows, "}", ""])


LISP_HEAD = """\
;;; smith-protocol.el --- Names on the wire  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; {note}
;; Requires nothing, and must not.

;;; Code:

(defconst smith-protocol-version {version}
  "Version of the protocol.")
"""


def lisp() -> str:
    """The constants of the Emacs package: methods as symbols, which jsonrpc.el takes and gives; commands as strings."""
    parts = [LISP_HEAD.format(note=NOTE, version=protocol.VERSION)]
    for kind, prefix, spelling in (("method", "smith/", "'{}"), ("command", "smith.", '"{}"')):
        for key, value in names(prefix).items():
            name = f"smith-protocol-{kind}-{key.replace('_', '-')}"
            parts.append(f'(defconst {name} {spelling.format(value)}\n  "Name of the {kind} `{value}\'.")\n')
    return "\n".join([*parts, "(provide 'smith-protocol)\n;;; smith-protocol.el ends here\n"])


TARGETS: dict[str, Callable[[], str]] = {
    "docs/protocol.md": page,
    "editors/nvim/lua/smith/protocol.lua": lua,
    "editors/emacs/smith-protocol.el": lisp,
}


def main(arguments: list[str]) -> int:
    """Write every target whose folder is there, or only compare."""
    stale = []
    for name, text in TARGETS.items():
        path, wanted = REPO / name, text()
        if not path.parent.is_dir() or (path.exists() and path.read_text(encoding="utf-8") == wanted):
            continue
        stale.append(name)
        if arguments != ["--check"]:
            path.write_text(wanted, encoding="utf-8")
    if arguments == ["--check"] and stale:
        print(f"not in step with {SOURCE}: {', '.join(stale)}. Run tools/gen_protocol.py.")
        return 1
    return 0


def _structs() -> Iterator[type[msgspec.Struct]]:
    """Every payload, in the order of the module, each after those of its fields that are defined elsewhere."""
    seen: set[type] = {msgspec.Struct}
    waiting: list[object] = [value for value in vars(protocol).values() if inspect.isclass(value)]
    while waiting:
        struct = waiting.pop(0)
        if not inspect.isclass(struct) or not issubclass(struct, msgspec.Struct) or struct in seen:
            continue
        seen.add(struct)
        waiting[:0] = [field.type for field in msgspec.structs.fields(struct)]
        yield struct


def _payload(struct: type[msgspec.Struct]) -> str:
    text = " ".join((inspect.getdoc(struct) or "").split())
    fields = msgspec.structs.fields(struct)
    rows = [f"| `{field.encode_name}` | {_type(field.type)} | {_default(field)} |" for field in fields]
    return "\n".join(
        [f"### {struct.__name__}", "", text, "", "| field | type | default |", "| --- | --- | --- |", *rows]
    )


def _type(annotation: object) -> str:
    text = (
        annotation.__name__ if inspect.isclass(annotation) and not hasattr(annotation, "__args__") else str(annotation)
    )
    text = re.sub(r"\b(?:typing|msgspec|smith_server)\.(?:\w+\.)*", "", text)
    return f"`{text}`".replace("|", "\\|")


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    if value is msgspec.UNSET:
        return "absent"
    return f"`{msgspec.json.encode(value).decode()}`"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
