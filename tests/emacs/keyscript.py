"""A random script of keys for Emacs, and an agent that inserts lines all the while.

The text is the one of the script for Neovim: blocks of four lines, each used by one sequence of keys, with a gap line
after each block. The agent inserts whole lines beside the gaps, so that none of its lines ever stands between two that
a sequence touches: the text without the agent's lines must not depend on whether it was there.
"""

import random
import time
from collections.abc import Sequence

from tests.emacs.editor import Emacs
from tests.nvim.server import until

BLOCKS = 45
C_G, C_SPACE, C_X, ESC, RET = "\x07", "\x00", "\x18", "\x1b", "\r"

KINDS: list[Sequence[str]] = [
    ["typed "],
    ["\x05", " end", RET, "more"],
    ["\x0b"],
    ["\x0b", "\x0b", "\x19"],
    [ESC + "d"],
    [ESC + "f", ESC + "\x7f", "word"],
    ["\x04", "\x04"],
    [C_SPACE, "\x0e", "\x17"],
    [C_SPACE, "\x0e", "\x0e", "\x17", "\x19"],
    [C_SPACE, ESC + "f", ESC + "w", "\x05", "\x19"],
    [C_SPACE, "\x0e", C_X, "\x15"],
    [C_X, " ", "\x0e", "\x06", "\x06", C_X, "r", "k"],
    [C_X, " ", "\x0e", "\x06", C_X, "r", "t", "##", RET],
    ["\x13", "gam", RET, "!"],
    ["\x13", "gam", C_G, "!"],
    ["\x12", "gap", C_G, "!"],
    [ESC, "%beta", RET, "B", RET, "y", "q"],
    [ESC, "%a", RET, "_", RET, "y", "n", "y", "q"],
    ["\x11", "x"],
    ["\x15", "4", "z"],
    [ESC, "3", "y"],
    [ESC, "c", ESC, "u", ESC, "l"],
    ["\x14"],
    [ESC, "t"],
    [C_X, "\x14"],
    ["\x0f", "open"],
    ["\x05", ESC, "j", "joined"],
    [C_X, "(", "ab", "\x0e", C_X, ")", C_X, "e"],
    [ESC, "z", "p"],
    [ESC, "x", "upcase-word", RET],
    ["\x05", " zeb", ESC, "/", " "],
    [C_SPACE, "\x0e", C_X, "\x18", "x"],
    [ESC, ":", '(insert "said")', RET],
    [C_X, "i", C_G, "left"],
]


def script(seed: int) -> list[tuple[int, Sequence[str]]]:
    """Which block gets which kind: each kind comes at least once."""
    chance = random.Random(seed)
    kinds = [*KINDS, *chance.choices(KINDS, k=BLOCKS - len(KINDS))]
    chance.shuffle(kinds)
    numbers = list(range(BLOCKS))
    chance.shuffle(numbers)
    return list(zip(numbers, kinds, strict=True))


IDLE = (
    "(and (not this-command) (= (minibuffer-depth) 0) (= (recursion-depth) 0) (not isearch-mode) (not prefix-arg)"
    " (= (length (this-single-command-keys)) 0) (not (input-pending-p)))"
)


def press(emacs: Emacs, keys: str) -> None:
    """Types keys. On a terminal C-g is no key but a signal, which takes those away that were typed before it."""
    if keys == C_G:
        until(lambda: emacs.lisp("(not (or this-command (input-pending-p)))"), keys)
    emacs.keys(keys)
    if keys == C_G:
        until(lambda: emacs.lisp(IDLE), keys)


def settle(emacs: Emacs, sent: int) -> None:
    """Waits until so many sequences are through."""
    until(lambda: emacs.lisp(f"(and (= played {sent}) {IDLE})"), sent)


def play(emacs: Emacs, seed: int, pause: float) -> None:
    """Types the script, with `pause` at most between two keys."""
    chance = random.Random(seed + 1)
    emacs.lisp("(progn (defvar played 0) (put 'upcase-region 'disabled nil))")
    emacs.lisp("(ignore (setq played 0) (global-set-key [f5] (lambda () (interactive) (setq played (1+ played)))))")
    for sent, (number, steps) in enumerate(script(seed), 1):
        emacs.lisp(f'(ignore (deactivate-mark) (goto-char (point-min)) (search-forward "u{number}.2 "))')
        for step in steps:
            press(emacs, step)
            time.sleep(chance.random() * pause)
        until(lambda: emacs.lisp(IDLE), steps)
        emacs.keys("\x1b[15~")
        settle(emacs, sent)
