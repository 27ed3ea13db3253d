"""What `--help` says, page by page: parts that several commands share are written once. No line is above 80 columns."""

from collections.abc import Iterator, Mapping

_TITLES = {
    "run": 'smith run "PROMPT" [flags]',
    "chat": "smith [chat] [flags]",
    "serve": "smith serve [flags]",
    "models": "smith models [flags]",
}

_ABOUT = """\
smith is a coding agent whose edits land in your open, unsaved buffer and never
clobber what you typed.

  smith                  talk to it in this terminal; the same as smith chat
  smith "fix the tests"  run one prompt and print the answer; the same as
                         smith run "fix the tests"
  smith serve            the language server that editors start
  smith models           what the provider offers: window, limits, price

smith COMMAND --help tells more of run, chat, serve and models."""

_RUN = """\
Run one prompt without asking anybody, and print the answer. What is printed
beside it goes to standard error. All words behind -- belong to the prompt. A
prompt that begins with / is a command, such as /help or /config. Without a
prompt, or with - in its place, it is read from standard input."""

_CHAT = """\
Talk in this terminal. Esc or Ctrl-C stops a turn, Ctrl-D leaves; /help lists
commands. Lines from a pipe are prompts, one after another."""

_SERVE = """\
Speak the language server protocol on standard input and output. The plug-ins
for Neovim and Emacs start this themselves."""

_MODELS = "List the models that the provider offers: window, output limit, price."

_TEXTS = {"run": _RUN, "chat": _CHAT, "serve": _SERVE, "models": _MODELS}

Rows = Mapping[str, str]

_CONVERSATION: Rows = {
    "-c, --continue": "go on with the last conversation of this project",
    "--resume ID": "go on with this one; the begin of its id is enough\n(`smith run /history` lists them)",
}
_TURNS: Rows = {
    "--max-budget-usd USD": "stop once the conversation has cost that much",
    "--think": "let Anthropic's models think before they answer",
    "--no-think": "ask no model to think; both win over the settings",
}
_UNATTENDED: Rows = {
    "-y, --yes": "run every call without asking; also --auto-approve",
    "--json": "print every event as a line of JSON, a result last",
}
_SCREEN: Rows = {
    "--tui": "the drawn session; says why where it cannot be",
    "--no-tui": "plain lines, nothing is drawn",
}
_MODEL: Rows = {
    "-p, --provider NAME": "openrouter, anthropic, openai, ollama, local, custom\nor scripted",
    "-m, --model MODEL": "what it answers with; smith models lists them",
}
_MORE: Rows = {"--config FILE": "settings to use instead of the usual file", "-h, --help": "this page"}

_FLAGS: Mapping[str, Mapping[str, Rows]] = {
    "": {
        "flags of run and chat": {**_CONVERSATION, **_TURNS},
        "flags of run alone": _UNATTENDED,
        "flags of chat alone": _SCREEN,
        "flags of all": {**_MODEL, **_MORE, "-v, -V, --version": "the version"},
    },
    "run": {"flags": {**_CONVERSATION, **_TURNS, **_UNATTENDED, **_MODEL, **_MORE}},
    "chat": {"flags": {**_CONVERSATION, **_TURNS, **_SCREEN, **_MODEL, **_MORE}},
    "serve": {"flags": {"--stdio": "accepted from editors that pass it; always so", **_MODEL, **_MORE}},
    "models": {"flags": {"--json": "print a line of JSON for each", **_MODEL, **_MORE}},
}
_WIDTH = 24

_EXIT_CODES: Mapping[str, Rows] = {
    "run": {
        "0": "done",
        "1": "failed, or the settings or the call were wrong",
        "2": "the limit of costs is reached",
        "3": "finished, but calls were refused: nobody was asked",
        "4": "tool_step_budget is used up",
        "130": "interrupted",
    },
    "chat": {
        "0": "you left",
        "1": "failed, or the settings or the call were wrong",
        "130": "you left with Ctrl-C",
        "else": "with lines from a pipe, the exit code of the last one\n(as smith run --help lists them)",
    },
    "serve": {"0": "the editor shut it down", "1": "failed, or the editor was gone or left without a word"},
    "models": {"0": "done", "1": "failed, or the settings or the call were wrong"},
}
_VARIABLES: Rows = {
    "OPENROUTER_API_KEY": "a key; the first of these that is set chooses the\nprovider",
    "ANTHROPIC_API_KEY": "",
    "OPENAI_API_KEY": "",
    "LLM_API_KEY": "the key of llm_config.api_url (provider custom)",
    "OLLAMA_HOST": "where an Ollama answers; http://localhost:11434",
    "SMITH_PROVIDER": "as --provider, which goes before it",
    "SMITH_MODEL": "the model of every provider",
    "SMITH_MODE": "as the setting defaults.mode",
    "MCP_TOOL_TIMEOUT": "as the setting mcp.timeout",
    "SMITH_HOME": "one folder for settings, conversations and logs",
    "SMITH_SCRIPT": "what the provider scripted plays",
    "NO_COLOR": "no colours",
}


def page(command: str) -> str:
    """The page of a command, "" for that of the program itself."""
    parts = [_ABOUT] if not command else [f"usage: {_TITLES[command]}", _TEXTS[command]]
    parts += [_part(head, rows) for head, rows in _FLAGS[command].items()]
    parts.append(_part("exit codes" if command else "exit codes of run", _EXIT_CODES[command or "run"]))
    parts.append(_part("environment", _VARIABLES))
    return "\n\n".join(parts) + "\n"


def _part(head: str, rows: Rows) -> str:
    return "\n".join([f"{head}:", *_lines(rows)])


def _lines(rows: Rows) -> Iterator[str]:
    for name, text in rows.items():
        for at, line in enumerate(text.split("\n")):
            yield f"  {name if at == 0 else '':<{_WIDTH}}{line}".rstrip()
