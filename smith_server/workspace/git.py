"""git as a reader: nothing that a repository configures runs a program, writes, waits or uses the network."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from smith_server.config.paths import project_root
from smith_server.core.errors import ToolRefusal
from smith_server.proc.looking import Looking, Lookout
from smith_server.proc.programs import installed
from smith_server.workspace.git_words import check

SECONDS = 30.0
_MOST_CONFIG = 1 << 20
_MOST_FILTERS = 500
_FILTER = re.compile(r"filter\.(.+)\.(?:clean|process|smudge|required)", re.DOTALL | re.IGNORECASE)

_IGNORED_REVISIONS = "blame.ignorerevsfile"

_SETTINGS = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", "false"),
    ("diff.external", ""),
    ("diff.orderFile", "/dev/null"),
    ("diff.submodule", "short"),
    ("log.showSignature", "false"),
    ("log.diffMerges", "separate"),
    ("format.pretty", "medium"),
    ("status.submoduleSummary", "false"),
    ("mailmap.file", "/dev/null"),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("protocol.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("color.ui", "false"),
    ("color.diff", "false"),
    ("color.status", "false"),
    ("color.branch", "false"),
)
_VARIABLES = MappingProxyType(
    {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "false",
        "GIT_ATTR_NOSYSTEM": "1",
    }
)
_FORCED = MappingProxyType(
    {
        "status": ((), ("--ignore-submodules=dirty",)),
        "diff": (("--no-ext-diff", "--no-textconv"), ("--ignore-submodules=dirty",)),
        "log": (("--no-ext-diff", "--no-textconv"), ()),
        "show": (("--no-ext-diff", "--no-textconv"), ()),
        "blame": (("--no-textconv", "--no-progress"), ()),
    }
)
"""By subcommand: what is put in front of the words, and what behind them so that they cannot undo it."""


class GitRun(Struct, frozen=True):
    """What git answered. `head` is the beginning of its output; `size` and `lines` count all of it.

    `whole` is false when it was ended at the limit of time.
    """

    code: int
    head: bytes
    tail: bytes
    size: int
    lines: int
    errors: bytes
    whole: bool


class Git:
    """Runs git for one session. `seconds` and `keep` (bytes of output, half from each end) bound a run."""

    def __init__(self, lookout: Lookout, seconds: float = SECONDS, keep: int = 1 << 16) -> None:
        self._lookout = lookout
        self._seconds = seconds
        self._keep = keep

    async def run(self, words: Sequence[str], cwd: Path) -> GitRun:
        """Run `git WORDS` in `cwd`.

        Raises `ToolRefusal`: `git_refused` for words that could do more than look, `no_repository`,
        `program_missing`, `not_started`.
        """
        check(words)
        root = project_root(cwd)
        if not (root / ".git").exists():
            raise ToolRefusal("no_repository", f"{cwd} is in no git repository.")
        program = installed("git", root)
        filters = await self._filters(program, root, cwd)
        kept = _Ends(self._keep // 2)
        argv = (program, "--no-pager", f"--work-tree={root}", *_with_forced(words))
        looking = Looking(argv, cwd, self._seconds, variables=_variables(filters))
        looked = await self._lookout.run(looking, kept.take)
        head, tail = kept.parts()
        return GitRun(looked.code, head, tail, kept.size, kept.lines, looked.errors, looked.ended == "itself")

    async def _filters(self, program: str, root: Path, cwd: Path) -> Sequence[str]:
        """The names of the filters that the repository's own configuration, included files too, defines.

        Refuses where `blame` would read a file outside and quote it: that setting cannot be taken back.
        """
        names: set[str] = set()
        for scope in ("--local", "--worktree"):
            for entry in await self._configured(program, cwd, scope):
                key, _, value = entry.partition("\n")
                if found := _FILTER.fullmatch(key):
                    names.add(found[1])
                elif key == _IGNORED_REVISIONS and value and not _is_inside(value, root):
                    raise ToolRefusal("git_refused", f"Not run: this repository sets {key} to a file outside of it.")
        if len(names) > _MOST_FILTERS:
            raise _unchecked()
        return sorted(names)

    async def _configured(self, program: str, cwd: Path, scope: str) -> Sequence[str]:
        """Entries of the configuration that matter here, each as key, line feed, value."""
        kept = bytearray()

        def take(piece: bytes) -> bool:
            kept.extend(piece)
            return len(kept) <= _MOST_CONFIG

        words = ("config", scope, "--includes", "--null", "--get-regexp", rf"^(filter\..*|{_IGNORED_REVISIONS})$")
        looking = Looking((program, *words), cwd, self._seconds, variables=_variables(()))
        if (await self._lookout.run(looking, take)).ended != "itself":
            raise _unchecked()
        return kept.decode("utf-8", "surrogateescape").split("\0")


def _is_inside(path: str, root: Path) -> bool:
    real = os.path.realpath(root / os.path.expanduser(path))  # noqa: PTH111 - git expands `~user` too
    return Path(real).is_relative_to(os.path.realpath(root))


def _unchecked() -> ToolRefusal:
    return ToolRefusal("git_refused", "Not run: the configuration of this repository could not be checked.")


def _with_forced(words: Sequence[str]) -> tuple[str, ...]:
    before, behind = _FORCED[words[0]]
    end = words.index("--") if "--" in words else len(words)
    return (words[0], *before, *words[1:end], *behind, *words[end:])


def _variables(filters: Sequence[str]) -> Mapping[str, str]:
    """Settings go through the environment: a name may hold any character there, and nothing can override them."""
    settings = list(_SETTINGS)
    for name in filters:
        settings += [(f"filter.{name}.{key}", "") for key in ("clean", "smudge", "process")]
        settings.append((f"filter.{name}.required", "false"))
    numbered = {"GIT_CONFIG_COUNT": str(len(settings))}
    for index, (key, value) in enumerate(settings):
        numbered |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return {**_VARIABLES, **numbered}


class _Ends:
    """Takes any amount, keeps `room` bytes of both ends."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0
        self.lines = 0

    def take(self, piece: bytes) -> bool:
        self.size += len(piece)
        self.lines += piece.count(b"\n")
        free = self._room - len(self._head)
        self._head += piece[:free]
        self._tail += piece[free:]
        if len(self._tail) > 4 * self._room:
            del self._tail[: -self._room]
        return True

    def parts(self) -> tuple[bytes, bytes]:
        """Both ends; without a gap all of it is in the first."""
        if len(self._head) + len(self._tail) == self.size:
            return bytes(self._head + self._tail), b""
        return bytes(self._head), bytes(self._tail[-self._room :])
