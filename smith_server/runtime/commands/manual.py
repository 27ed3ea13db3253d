"""What `/help` says: a line for each command, and a page for one. Every line fits into a narrow window."""

from collections.abc import Iterator, Mapping

from msgspec import Struct


class Page(Struct, frozen=True):
    """What may follow the name of a command, each with its meaning, and lines that show it at work."""

    arguments: Mapping[str, str] = {}
    examples: tuple[str, ...] = ()
    note: str = ""


_CONVERSATION = "its id, or the beginning of it"

PAGES: Mapping[str, Page] = {
    "help": Page({"command": "tell of this one"}, ("/help config",)),
    "new": Page(note="The one before stays stored; /resume goes back to it."),
    "fork": Page(note="The original stays as it is."),
    "take-over": Page(note="Where it was open it is read-only from then on."),
    "load": Page(
        {"<conversation>": _CONVERSATION, "--here": "it works in this project from now on"},
        ("/load 3f2a9c1b", "/load --here 3f2a"),
        "/history lists the conversations.",
    ),
    "resume": Page({"conversation": _CONVERSATION}, ("/resume", "/resume 3f2a9c1b")),
    "history": Page({"n": "how many, newest first; 20 without it"}, ("/history 5",)),
    "rename": Page({"<title>": "all that follows"}, ("/rename the new parser",)),
    "clear": Page(note="What it used and what it keeps stay."),
    "role": Page({"role": "who answers from the next prompt on"}, ("/role orchestrator",)),
    "model": Page(
        {"model": "for this conversation, from now on"},
        ("/model claude-sonnet-5",),
        "/config set default_model sets it for all of them.",
    ),
    "config": Page(
        {
            "get <path>": "a setting or table, who set it",
            "set <path> <value>": "change it, here and from now on",
            "unset <path>": "take such a change back",
        },
        ("/config", "/config get bash", "/config set tool_step_budget 40"),
        "Alone it shows all settings. Files and other ways to\nset them: docs/config.md.",
    ),
    "memory": Page(
        {
            "list": "what there is",
            "get <id>": "show a text",
            "upsert <id> <text>": "keep a text under that id",
            "delete <id>": "forget it",
        },
        ("/memory upsert style tabs, no blanks",),
        "All conversations of a project share it.",
    ),
    "scratchpad": Page(
        {
            "list [prefix]": "what there is",
            "get <key>": "show a text",
            "set <key> <text>": "keep a text under that key",
            "delete <key>": "forget it",
        },
        ("/scratchpad set plan first the parser",),
    ),
    "export": Page(
        {"file": "a new one; smith-<id>.jsonl without it"},
        ("/export talk.jsonl",),
        "Each line is one record in JSON.",
    ),
    "quit": Page(note="/resume goes on with it."),
    "cmd": Page({"<shell line>": "run in the project's folder"}, ("/cmd git status",), "No model hears of it."),
    "cmd+": Page(
        {"<shell line>": "run in the project's folder"},
        ("/cmd+ make test",),
        "The next prompt carries line and output.",
    ),
    "search": Page(
        {"<words>": "what to look for", "--all": "beyond this project"}, ("/search parser", "/search --all flaky test")
    ),
    "todos": Page(note="The model writes it while it works."),
    "context": Page(note="It is estimated; the window is that of the model."),
    "compact": Page(note="Everything stays stored and can be read."),
    "usage": Page(note="Of this conversation, and of its project."),
    "prompt": Page(note="It is what the next turn would send."),
    "pager": Page(note="Nothing is left out."),
}


def listed(sentences: Mapping[str, str]) -> str:
    """The commands by name, each with its sentence."""
    width = max(map(len, sentences)) + 1
    rows = [f"{f'/{name}':<{width}}  {text}" for name, text in sentences.items()]
    return "\n".join([*rows, "", "/help <command> tells more of one."])


def told(name: str, usage: str, sentence: str) -> str:
    """One command: how it is typed, what it does, what may follow it, an example."""
    page = PAGES[name]
    head = [f"/{name} {usage}".rstrip(), f"{sentence[:1].upper()}{sentence[1:]}.", *page.note.splitlines()]
    return "\n".join([*head, *_arguments(page.arguments), *_examples(page.examples)])


def _arguments(rows: Mapping[str, str]) -> Iterator[str]:
    if rows:
        width = max(map(len, rows))
        yield ""
        yield from (f"  {name:<{width}}  {text}" for name, text in rows.items())


def _examples(lines: tuple[str, ...]) -> Iterator[str]:
    if lines:
        yield from ("", "For example:", *(f"  {line}" for line in lines))
