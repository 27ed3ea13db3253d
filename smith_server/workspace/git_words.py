"""Which words may follow `git`: five subcommands that only look, each with a list of harmless options. Pure.

Everything that is not listed is refused: options that write, run a program, read other files or
wait for input are on no list, and shortened spellings are not guessed at.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from smith_server.core.errors import ToolRefusal

SUBCOMMANDS = ("status", "log", "diff", "show", "blame")

_NUMBER = r"\d+"
_TEXT = r"[^\0]*"
_PERCENT = r"\d+%?"
_WHEN = r"relative|local|default|iso|iso8601|iso-strict|rfc|rfc2822|short|raw|human|unix|format:[^\0]*"
_FORMAT = (
    r"oneline|short|medium|full|fuller|reference|email|raw|mboxrd|"
    r"(?!.*%[-+ ]?G)(?:t?format:.*|.*%.*)"
)

_DIFF = """
-p -u --patch -s --no-patch --raw --patch-with-raw --patch-with-stat --minimal --patience --histogram --numstat
--shortstat --summary -z --name-only --name-status --no-color --no-renames --rename-empty --no-rename-empty --check
--full-index --binary -R -a --text --ignore-cr-at-eol --ignore-space-at-eol -b --ignore-space-change -w
--ignore-all-space --ignore-blank-lines -W --function-context --exit-code -q --quiet --no-prefix --pickaxe-all
--pickaxe-regex -D --irreversible-delete --compact-summary --cumulative --indent-heuristic --no-indent-heuristic
--find-copies-harder --no-relative --relative --no-ext-diff --no-textconv --stat --dirstat --abbrev --unified -U -M
--find-renames -C --find-copies -B --break-rewrites --word-diff -S -G --cc -c -m --combined-all-paths
--submodule --ignore-submodules
"""
_DIFF_VALUES = {
    "--unified": _NUMBER,
    "--stat": r"\d+(,\d+){0,2}",
    "--stat-width": _NUMBER,
    "--stat-name-width": _NUMBER,
    "--stat-count": _NUMBER,
    "--dirstat": r"[a-z0-9,.]+",
    "--abbrev": _NUMBER,
    "--find-renames": _PERCENT,
    "--find-copies": _PERCENT,
    "--break-rewrites": r"\d+%?(/\d+%?)?",
    "--diff-filter": r"[A-Za-z*]+",
    "--inter-hunk-context": _NUMBER,
    "--diff-algorithm": "patience|minimal|histogram|myers|default",
    "--word-diff": "plain|porcelain|none",
    "--word-diff-regex": _TEXT,
    "--color": "never",
    "--submodule": "short|log",
    "--ignore-submodules": "none|untracked|dirty|all",
    "--src-prefix": _TEXT,
    "--dst-prefix": _TEXT,
    "--line-prefix": _TEXT,
    "--ignore-matching-lines": _TEXT,
}
_DIFF_ATTACHED = {
    "-U": _NUMBER,
    "-M": _PERCENT,
    "-C": _PERCENT,
    "-B": r"\d+%?(/\d+%?)?",
    "-l": _NUMBER,
    "-S": _TEXT,
    "-G": _TEXT,
    "-I": _TEXT,
}

_LOG = """
--oneline -n --max-count --skip --since --after --until --before --author --committer --grep --all-match --invert-grep
-i --regexp-ignore-case --basic-regexp -E --extended-regexp -F --fixed-strings -P --perl-regexp --remove-empty --merges
--no-merges --first-parent --not --all --branches --tags --remotes --reflog -g --walk-reflogs --cherry-mark
--cherry-pick --cherry --left-only --right-only --left-right --boundary --simplify-by-decoration --full-history --dense
--sparse --simplify-merges --ancestry-path --show-pulls --date-order --author-date-order --topo-order --reverse
--parents --children --graph --no-graph --decorate --no-decorate --follow --full-diff --log-size --relative-date
--no-walk --abbrev-commit --no-abbrev-commit --no-notes --source --date --pretty --format -L --no-expand-tabs
--no-diff-merges --root -r -t
"""
_LOG_VALUES = {
    "--max-count": _NUMBER,
    "--skip": _NUMBER,
    "--since": _TEXT,
    "--after": _TEXT,
    "--until": _TEXT,
    "--before": _TEXT,
    "--author": _TEXT,
    "--committer": _TEXT,
    "--grep": _TEXT,
    "--min-parents": _NUMBER,
    "--max-parents": _NUMBER,
    "--branches": _TEXT,
    "--tags": _TEXT,
    "--remotes": _TEXT,
    "--glob": _TEXT,
    "--exclude": _TEXT,
    "--ancestry-path": _TEXT,
    "--decorate": "short|full|auto|no",
    "--decorate-refs": _TEXT,
    "--decorate-refs-exclude": _TEXT,
    "--date": _WHEN,
    "--pretty": _FORMAT,
    "--format": _FORMAT,
    "--no-walk": "sorted|unsorted",
    "--diff-merges": "off|none|on|first-parent|1|separate|m|combined|c|dense-combined|cc",
}
_LOG_ATTACHED = {"-n": _NUMBER, "-L": _TEXT, "-": _NUMBER}

_STATUS = """
-s --short -b --branch --show-stash --long --no-column --ahead-behind --no-ahead-behind --renames --no-renames
--find-renames --porcelain -u --untracked-files --ignored --ignore-submodules -z
"""
_STATUS_VALUES = {
    "--porcelain": "v1|v2|1|2",
    "--untracked-files": "no|normal|all",
    "--ignored": "traditional|no|matching",
    "--ignore-submodules": "none|untracked|dirty|all",
    "--find-renames": _PERCENT,
}

_BLAME = """
-L -l -t -f --show-name -n --show-number -s -e --show-email -w -p --porcelain --line-porcelain -b --root --show-stats
--date --abbrev -M -C --score-debug --incremental -c --minimal --first-parent --since --ignore-rev --no-progress
"""
_BLAME_VALUES = {
    "--date": _WHEN,
    "--abbrev": _NUMBER,
    "--since": _TEXT,
    "--ignore-rev": _TEXT,
}


class Options(NamedTuple):
    """What one subcommand takes: options that stand alone, with `=value`, with the value attached to a letter.

    `cluster` are letters that may be written as one word.
    """

    alone: frozenset[str]
    values: Mapping[str, str]
    attached: Mapping[str, str]
    cluster: str = ""

    def holds(self, word: str) -> bool:
        """Whether `word` is on the list, its value included."""
        if word in self.alone:
            return True
        name, equals, value = word.partition("=")
        if equals and name in self.values:
            return re.fullmatch(self.values[name], value, re.DOTALL) is not None
        if word.startswith("--"):
            return False
        if self.cluster and re.fullmatch(f"-[{self.cluster}]+", word):
            return True
        letters = ("-", word[1:]) if word[1:2].isdigit() else (word[:2], word[2:])
        pattern = self.attached.get(letters[0])
        return pattern is not None and re.fullmatch(pattern, letters[1], re.DOTALL) is not None


def _options(alone: str, values: Mapping[str, str], attached: Mapping[str, str], cluster: str = "") -> Options:
    return Options(frozenset(alone.split()), values, attached, cluster)


_HISTORY = _options(_DIFF + _LOG, {**_DIFF_VALUES, **_LOG_VALUES}, {**_DIFF_ATTACHED, **_LOG_ATTACHED})
OPTIONS = MappingProxyType(
    {
        "status": _options(_STATUS, _STATUS_VALUES, {"-u": "no|normal|all"}, "sbz"),
        "log": _HISTORY,
        "show": _HISTORY,
        "diff": _options(_DIFF + " --cached --staged --merge-base", _DIFF_VALUES, _DIFF_ATTACHED),
        "blame": _options(_BLAME, _BLAME_VALUES, {"-L": _TEXT, "-M": _NUMBER, "-C": _NUMBER}, "ltfnsewpbc"),
    }
)


def check(words: Sequence[str]) -> None:
    """Raise `ToolRefusal` `git_refused` unless these words after `git` can do nothing but look at this repository."""
    if not words or words[0] not in SUBCOMMANDS:
        said = repr(words[0]) if words else "nothing"
        raise _refused(f"the first word is the subcommand, one of {', '.join(SUBCOMMANDS)}, not {said}")
    options = OPTIONS[words[0]]
    only_paths = False
    for word in words[1:]:
        if word == "--" and not only_paths:
            only_paths = True
        elif word.startswith("-") and not only_paths:
            if "\0" in word or not options.holds(word):
                raise _refused(f"git {words[0]} takes no option {word!r} here")
        else:
            _check_plain(word)


def _check_plain(word: str) -> None:
    if not word or "\0" in word:
        raise _refused("a word is empty or holds a NUL character")
    if word[0] in "/~" or ".." in word.split("/"):
        raise _refused(f"{word!r} may lead out of the repository; paths are relative and have no '..'")


def _refused(why: str) -> ToolRefusal:
    return ToolRefusal("git_refused", f"Not run: {why}.")
