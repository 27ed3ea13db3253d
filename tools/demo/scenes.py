"""The scenes of the demo: what the person does, and what has to be so afterwards."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from neovim import Neovim, NotSeen, wait

TYPED = 'CURRENCY = "EUR"'
EDITED = '/ 100:.2f} {CURRENCY}"])'
THEIRS = "amount * percent / 100  # exact"


class Story:
    """One run: the editor, what was on disk before it, and what was checked so far."""

    def __init__(self, nvim: Neovim) -> None:
        self.nvim = nvim
        self.on_disk = nvim.file.read_bytes()
        self.told: list[str] = []

    def title(self, text: str) -> None:
        """Begin a scene."""
        self._tell(f"\n{text}")
        self.nvim.caption(text, 2.5)

    def check(self, text: str, holds: bool) -> None:
        """Note that `text` is so. Raises `NotSeen` when it is not."""
        if not holds:
            raise NotSeen(
                f"it is not so that {text}. The buffer was:\n{self.nvim.text()}\nThe chat was:\n{self.nvim.chat()}"
            )
        self._tell(f"  checked: {text}")
        self.nvim.caption(f"✓ {text}", 1.5)

    def _tell(self, line: str) -> None:
        self.told.append(line)
        if not self.nvim.visible:
            print(line, flush=True)

    def ask(self, prompt: str) -> None:
        """Type a prompt in the chat and send it, as a person would."""
        self.nvim.keys("<Esc>:Smith<CR>")
        wait("the chat is open", lambda: self.nvim.lua("return vim.bo.filetype") == "smith-chat")
        self.nvim.keys(f"{prompt}<C-s>")

    def go_to_file(self) -> None:
        """Leave the chat for the window of the file."""
        self.nvim.keys("<Esc><C-w>p")
        wait("the file has the cursor", lambda: self.nvim.lua("return vim.fn.expand('%:t')") == self.nvim.file.name)


def unsaved_text(story: Story) -> None:
    """The person types a line and does not save it; the model's read shows that line."""
    story.title("You type a line and do not save it; the agent reads your buffer.")
    story.nvim.keys(f"gg/^Items<CR>o{TYPED}<Esc>")
    wait("the line is typed", lambda: TYPED in story.nvim.text())
    story.ask("name the currency in the receipt")
    story.nvim.wait_for_chat("May I run")
    chat = story.nvim.chat()
    story.check("the agent sees the line that you have not saved", any(TYPED in line for line in _after(chat, "read")))
    story.check("the file on disk has not changed", story.nvim.file.read_bytes() == story.on_disk)


def guarded_edit(story: Story) -> None:
    """The edit that the model asked for is allowed and lands in the unsaved buffer."""
    story.title("You allow the edit; it lands in your unsaved buffer.")
    story.go_to_file()
    story.nvim.keys("Gzz")
    wait("the line is in sight", lambda: story.nvim.lua("return demo.place()")[0] > 20)
    before, place = story.nvim.text(), story.nvim.lua("return demo.place()")
    story.nvim.keys(":Smith yes<CR>")
    story.nvim.wait_for_chat("Nothing was saved")
    edited = story.nvim.text()
    story.check("the edit is in your buffer, next to your own line", EDITED in edited and TYPED in edited)
    story.check("your cursor and your view have not moved", story.nvim.lua("return demo.place()") == place)
    story.check("nothing was saved for you", story.nvim.lua("return demo.is_modified(...)", str(story.nvim.file)))
    story.check("the file on disk has not changed", story.nvim.file.read_bytes() == story.on_disk)
    story.nvim.keys("u")
    wait("one undo takes the edit back and nothing else", lambda: story.nvim.text() == before)
    story.check("one undo takes the edit back and nothing else", True)
    story.nvim.keys("<C-r>")
    wait("redo brings the edit again", lambda: story.nvim.text() == edited)


def stale_edit(story: Story) -> None:
    """The person changes the line while the question waits; the edit is refused."""
    story.title("You change the same line while the agent waits for your answer.")
    story.ask("discounted should be a whole number")
    story.nvim.wait_for_chat("May I run")
    story.go_to_file()
    story.nvim.keys("gg/percent \\/ 100$<CR>zzA  # exact<Esc>")
    wait("the line is changed", lambda: THEIRS in story.nvim.text())
    typed = story.nvim.text()
    story.nvim.keys(":Smith yes<CR>")
    story.nvim.wait_for_chat("nothing of mine was applied")
    chat = story.nvim.chat()
    story.check("the edit is refused: the line is not the one that the agent read", "✗ replace prices.py" in chat)
    story.check("your text is untouched", story.nvim.text() == typed)
    story.check("the agent is shown your line as it is now", any(THEIRS in line for line in _after(chat, "✗ replace")))


def cancel(story: Story) -> None:
    """A command that ignores being asked to end is stopped with the turn."""
    story.title("You stop a command that does not want to stop.")
    story.ask("run the slow check")
    story.nvim.wait_for_chat("May I run")
    story.nvim.keys("<Esc>:Smith yes<CR>")
    process = wait("the command runs", lambda: re.search(r"^ +checking in process (\d+)", story.nvim.chat(), re.M))
    story.check("the command runs", _lives(int(process[1])))
    began = time.monotonic()
    story.nvim.keys("<C-c>")
    wait("the turn has ended", lambda: not story.nvim.lua("return demo.is_running()"), 5)
    story.check("everything stopped within a second", time.monotonic() - began < 1.0)
    story.check("nothing of the command runs any more", not _lives(int(process[1])))
    story.ask("are you still there")
    story.nvim.wait_for_chat("I am still here")
    story.check("the next question is answered", True)


SCENES: tuple[Callable[[Story], None], ...] = (unsaved_text, guarded_edit, stale_edit, cancel)


def _after(text: str, word: str) -> list[str]:
    return text.partition(word)[2].splitlines()


def _lives(group: int) -> bool:
    """Whether anything of a process group still runs; what has ended and waits to be collected does not."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(of_group) == group and state != "Z":
            return True
    return not Path("/proc/self").exists() and _answers(group)


def _answers(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
