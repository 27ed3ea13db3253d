"""Writes what others know of the settings out of `smith_server/config/schema`: the reference and the JSON schema.

`--check` writes nothing and fails when a file is not what would be written.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from smith_server.config.keys import ANY_NAME, OTHER_ROOT, ROOT, Key, all_keys, child, children, is_table
from smith_server.config.overrides import OVERRIDABLE
from smith_server.config.schema.field import ABSENT, ADDS, Rule
from smith_server.config.schema.models import Providers, ProviderSettings
from smith_server.config.schema.safety import Hook
from smith_server.config.spellings import SERVICES
from smith_server.config.values import wanted

REPO = Path(__file__).resolve().parent.parent
SOURCE = "smith_server/config/schema"
NOTE = f"Made by tools/gen_config.py from {SOURCE}; edit that, not this."

INTRO = """\
# Settings

<!-- {note} -->

Settings are read from these places; what stands lower in the list goes before what stands above it.

1. The defaults below.
2. `config.toml`, or `config.json` with the same keys, in the configuration folder of your system
   (`~/.config/smith` on Linux) or under `SMITH_HOME`.
3. `.smith/config.toml` (or `.json`) of the project.
4. What was set with `/config set`.
5. Environment variables.
6. The command line, and what an editor sends when it starts the server.

Tables merge key by key. Everything else replaces what stands below it, lists too, except the lists that say
*adds up*: of those no file can take away what another one says. `/config` shows each value and where it comes from.

A value that is wrong is told with file and line, and what the places above it in the list say holds. An unknown key is
told with the nearest known one. A file that cannot be read at all, or a wrong value under `approval`, `hooks` or
`sandbox`, is never read as permission: deny and ask rules that can be made out hold, allow rules and `mode = "auto"` do
not, and a run with nobody to ask does not start.

**Projects.** The column *project* says what a project's file may do by itself. *With consent* is for values that need
your word first; this version cannot ask for it, so such a value is ignored, with a warning.

**No effect yet** stands where a setting is checked, but nothing reads it in this version.
"""

RUN_TIME = """\
## At run time

`/config set <path> <value>` changes these, from the next turn on and for later sessions; `/config unset <path>` takes
it back. The value is read as JSON where it is JSON, else as text: `80`, `false`, `[2000, 8000]` are what they look
like, `"80"` is a text.

"""

VARIABLES = """\
## Environment

| variable | stands for |
| --- | --- |
| `SMITH_PROVIDER` | `defaults.provider` |
| `SMITH_MODEL` | `providers.*.model`, for every provider |
| `SMITH_MODE` | `defaults.mode` |
| `OLLAMA_HOST` | where Ollama listens; goes before `providers.ollama.host` |
| `MCP_TOOL_TIMEOUT` | `mcp.timeout` |

Keys of providers are read from the environment only. A variable that is empty counts as unset.
"""


def page() -> str:
    """`docs/config.md`."""
    parts = [INTRO.format(note=NOTE).rstrip(), "## At the top", _table(_plain_keys(ROOT))]
    for name in children(ROOT.kind):
        table = child(ROOT, name)
        if table is not None and table.holds_names and name != "models":
            parts += [f"## `{name}`", _doc(table), *MORE.get(name, _one_table)(table)]
    others = [key for table in children(OTHER_ROOT.kind) for key in all_keys(_sure(child(OTHER_ROOT, table)))]
    parts += ["## Other spellings", "Files of older programs work unchanged.", _table(others)]
    parts += [
        f"A table at the top named {_ticked(SERVICES)} is `services.<name>`.",
        RUN_TIME + _listed(),
        VARIABLES.rstrip(),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _one_table(table: Key) -> list[str]:
    return [_table(list(all_keys(table)))]


def _hooks(table: Key) -> list[str]:
    return [*_one_table(table), "Each hook is a table:", _table(list(all_keys(Key((), Hook))))]


def _providers(root: Key) -> list[str]:
    """What all providers have is told once."""
    every = list(all_keys(Key(("providers", "<provider>"), ProviderSettings)))
    own = [key for key in all_keys(root) if key.path[2] not in children(ProviderSettings)]
    names = list(children(Providers))
    idle = [name for name in names if not any(key.has_effect for key in all_keys(_sure(child(root, name))))]
    told = f"`<provider>` is one of {_ticked(names)}."
    told += f" Nothing in this version reads {_ticked(idle)}." if idle else ""
    return [told, _table([*every, *own])]


def _ticked(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


MORE: Mapping[str, Callable[[Key], list[str]]] = {"hooks": _hooks, "providers": _providers}


def _plain_keys(root: Key) -> list[Key]:
    return [key for key in all_keys(root) if len(key.path) == 1 or key.path[0] == "models"]


def _doc(key: Key) -> str:
    return " ".join((key.kind.__doc__ or "").split()) if is_table(key.kind) else key.sentence


def _listed() -> str:
    return "\n".join(f"- `{path}`" for path in (*OVERRIDABLE, "models.<name>"))


def _table(keys: list[Key]) -> str:
    rows = [
        f"| `{_spelled(key)}` | {_kind(key)} | {_default(key)} | {_rule(key.rule)} | {_text(key)} |" for key in keys
    ]
    return "\n".join(["| key | value | default | project | |", "| --- | --- | --- | --- | --- |", *rows])


def _spelled(key: Key) -> str:
    return key.dotted.replace(ANY_NAME, "<name>")


def _kind(key: Key) -> str:
    return wanted(key).replace("|", "\\|") + ("; adds up" if ADDS in key.marks else "")


def _default(key: Key) -> str:
    if key.default is msgspec.NODEFAULT and len(key.path) == 1:
        return "required"
    if key.default in (None, "", msgspec.NODEFAULT) or (ABSENT in key.marks and key.default == ()):
        return "–"
    return f"`{msgspec.json.encode(key.default).decode()}`"


def _rule(rule: Rule) -> str:
    words = {
        "free": "free",
        "lower": "a lower number",
        "only": f"only `{msgspec.json.encode(rule.value).decode()}`",
        "model": "a model that your own file names",
        "consent": "with consent",
        "never": "never",
    }
    return words[rule.name]


def _text(key: Key) -> str:
    return key.sentence if key.has_effect else f"{key.sentence} **No effect yet.**"


def schema() -> str:
    """`docs/config.schema.json`, for editors that check and complete the file."""
    tables = {**_table_schema(ROOT)["properties"], **_table_schema(OTHER_ROOT)["properties"]}
    services = tables["services"]["properties"]
    tree = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": NOTE,
        "title": "Settings of smith",
        "type": "object",
        "properties": {**tables, **{name: table for name, table in services.items() if name not in tables}},
        "additionalProperties": False,
    }
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"


def _schema(key: Key) -> dict[str, Any]:
    if is_table(key.kind):
        return _table_schema(key)
    if key.kind is Any:
        return {}
    if key.holds_names:
        inner = _schema(_sure(child(key, ANY_NAME)))
        return {"description": key.sentence, "type": "object", "additionalProperties": inner}
    found = _inlined(msgspec.json.schema(key.annotation))
    found = {**found, "description": _text(key).replace("**", "")} if key.sentence else found
    return {**found, "default": msgspec.to_builtins(key.default)} if key.in_defaults else found


def _table_schema(key: Key) -> dict[str, Any]:
    properties = {name: _schema(_sure(child(key, name))) for name in children(key.kind)}
    required = [name for name, inner in children(key.kind).items() if inner.default is msgspec.NODEFAULT]
    table = {"description": _doc(key), "type": "object", "properties": properties, "additionalProperties": False}
    return {**table, "required": required} if required else table


def _inlined(found: dict[str, Any]) -> dict[str, Any]:
    """A list of tables with the table in its place."""
    definitions: Mapping[str, Any] = found.pop("$defs", {})
    if definitions:
        found["items"] = _table_schema(Key((), Hook))
    return found


def _sure(key: Key | None) -> Key:
    assert key is not None, "a name that the schema itself gave"
    return key


TARGETS: dict[str, Callable[[], str]] = {"docs/config.md": page, "docs/config.schema.json": schema}


def stale() -> Iterator[tuple[Path, str]]:
    """The files that are not what they should be, each with the text that it should have."""
    for name, text in TARGETS.items():
        path, wanted_text = REPO / name, text()
        if not path.exists() or path.read_text(encoding="utf-8") != wanted_text:
            yield path, wanted_text


def main(arguments: list[str]) -> int:
    """Write every target, or only compare."""
    found = list(stale())
    if arguments != ["--check"]:
        for path, text in found:
            path.write_text(text, encoding="utf-8")
        return 0
    if found:
        names = ", ".join(str(path.relative_to(REPO)) for path, _ in found)
        print(f"not in step with {SOURCE}: {names}. Run tools/gen_config.py.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
