"""A random script of keys, and an agent that inserts lines all the while.

The text has blocks of four lines, each used by one sequence of keys, with a gap line after each block. The agent
inserts whole lines beside the gaps, so that none of its lines ever stands between two that a sequence touches:
the text without the agent's lines must not depend on whether it was there.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.nvim.documents import text_hash
from tests.nvim.editor import TestEditor
from tests.nvim.server import TestServer, until

Step = str | Callable[[TestEditor, int], str]

BLOCKS = 70
MARK = "agent"


def block(number: int) -> list[str]:
    words = ("alpha beta", "beta gamma 5", "gamma alpha 7", f"delta zebra{number}x")
    return [*(f"u{number}.{line} {text}" for line, text in enumerate(words, 1)), f"gap {number}"]


def whole_text() -> list[str]:
    return ["gap top", *(line for number in range(BLOCKS) for line in block(number))]


def second_line(editor: TestEditor, number: int) -> str:
    """The number of a line as it is seen while the command line is open."""
    editor.in_mode("c")
    seen = [line.split(" ")[0] for line in editor.lines()]
    wanted = f"u{number}.2"
    return str(seen.index(wanted) + 1) if wanted in seen else "1"


KINDS: list[Sequence[Step]] = [
    ["V", "d"],
    ["V", "j", "d"],
    ["V", "k", "J"],
    ["v", "e", "d"],
    ["v", "j", "c", "new", "<Esc>"],
    ["<C-v>", "j", "I", "##", "<Esc>"],
    ["<C-v>", "j", "$", "A", "!!", "<Esc>"],
    ["V", "j", "<Esc>", "g", "v", "d"],
    ["d", "d"],
    ["d", "j"],
    ["d", "k"],
    ["2", "d", "d"],
    ["d", "i", "w"],
    ["c", "i", "w", "word", "<Esc>"],
    ["c", "c", "line", "<Esc>"],
    ["D"],
    ["y", "y", "p"],
    ["y", "j", "P"],
    ['"', "a", "y", "y", '"', "a", "p"],
    ["x", "p"],
    ["i", "typed", "<Esc>"],
    ["A", " end", "<CR>", "more", "<Esc>"],
    ["o", "below", "<Esc>"],
    ["O", "above", "<Esc>"],
    ["R", "over", "<Esc>"],
    ["i", "one", "<C-o>", "D", "two", "<Esc>"],
    ["A", "<C-v>", "x", "<C-k>", "a:", "<Esc>"],
    ["A", "<BS>", "<C-w>", "<C-u>", "z", "<Esc>"],
    ["f", "a", "x"],
    ["r", "Z"],
    ["t", "m", "~"],
    ["J"],
    [">", ">"],
    ["g", "U", "U"],
    ["<C-a>"],
    ["a", "!", "<Esc>", "j", "."],
    ["m", "a", "j", "j", "'", "a", "x"],
    ["q", "a", "x", "A", "q", "<Esc>", "q", "j", "@", "a"],
    ["/", "gamma", "<CR>", "x"],
    ["d", "/", "gamma", "<CR>"],
    [":", second_line, "d", "<CR>"],
    [":", ".", "d", "<CR>"],
    [":", ".,+1", "s/a/A/", "<CR>"],
    [":", ".,+1s/beta/B/gc", "<CR>", "y"],
    [":", ".,+2s/a/_/gc", "<CR>", "y", "n", "q"],
    [":", "m+1", "<CR>"],
    [":", "t.", "<CR>"],
    [":", "normal Azz", "<CR>"],
    [":", "call append('.', input('x'))", "<CR>", "said", "<CR>"],
    ["q", ":", "i", "s/beta/win/", "<Esc>", "<CR>"],
    ["o", "zebra", "<C-n>", "<C-e>", "<Esc>"],
    ["<C-v>", "j", "r", "Q"],
    ["y", "i", "w", "P"],
    ["g", "J"],
    ["!", "!", "tr a b", "<CR>"],
]


def script(seed: int) -> list[tuple[int, Sequence[Step]]]:
    """Which block gets which kind: each kind comes at least once."""
    chance = random.Random(seed)
    kinds = [*KINDS, *chance.choices(KINDS, k=BLOCKS - len(KINDS))]
    chance.shuffle(kinds)
    numbers = list(range(BLOCKS))
    chance.shuffle(numbers)
    return list(zip(numbers, kinds, strict=True))


class Agent:
    """Inserts a line every few milliseconds until it is told to stop."""

    def __init__(self, server: TestServer, path: Path, seed: int) -> None:
        self.outcomes: Counter[str] = Counter()
        self._server, self._uri, self._chance = server, path.as_uri(), random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(20)

    def _work(self) -> None:
        while not self._stop.wait(0.003):
            self._insert()

    def _insert(self) -> None:
        text = str(self._server.request("smith/readBuffer", {"uri": self._uri})["text"])
        gaps = [row for row, line in enumerate(text.split("\n")) if line.startswith("gap")]
        row = self._chance.choice(gaps[: max(len(gaps) // 2, 1)]) + self._chance.randint(0, 1)
        place = {"line": row, "character": 0}
        receipt = self._server.apply(
            {
                "change": f"{self._uri}#{sum(self.outcomes.values())}",
                "uri": self._uri,
                "version": 0,
                "base_hash": text_hash(text),
                "edits": [{"range": {"start": place, "end": place}, "old": "", "newText": f"{MARK} {row}\n"}],
                "label": "agent",
                "deadline": int(time.time() * 1000) + 30_000,
            }
        )
        self.outcomes[receipt["status"]] += 1


def is_idle(editor: TestEditor) -> bool:
    return editor.mode() == {"mode": "n", "blocking": False}


def give_up(editor: TestEditor) -> None:
    """Back to normal mode from wherever wrong text has led."""
    deadline = time.monotonic() + 0.5
    while not is_idle(editor) and time.monotonic() < deadline:
        time.sleep(0.01)
    while not is_idle(editor):
        editor.keys("<C-c>")
        time.sleep(0.01)


def play(editor: TestEditor, seed: int, pause: float, harmed: bool = False) -> None:
    """Types the script, with `pause` at most between two keys; where `harmed`, keys may lead anywhere."""
    chance = random.Random(seed + 1)
    for number, steps in script(seed):
        for step in [f"/u{number}\\.2 ", "<CR>", *steps]:
            editor.keys(step if isinstance(step, str) else step(editor, number))
            time.sleep(chance.random() * pause)
        if harmed:
            give_up(editor)
        until(lambda: is_idle(editor), steps)


def without_agent(lines: list[str]) -> list[str]:
    return [line for line in lines if not line.startswith(MARK)]
