from pathlib import Path

import pytest

from tests.emacs.editor import Emacs, quoted
from tests.nvim.server import TestServer, until

pytestmark = pytest.mark.emacs

KINDS = {
    "plain": (b"one\ntwo\nthree\n", b"zero\none\ntwo\n3\n"),
    "UTF-8": ("é\ntwo\nthree ü\n".encode(), "zero\né\ntwo 😀\nthree ü\n".encode()),
    "CRLF": (b"one\r\ntwo\r\n", b"zero\r\none\r\ntwo\r\n"),
    "CRLF that becomes LF": (b"one\r\ntwo\r\n", b"zero\none\ntwo\n"),
    "BOM": (b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfzero\none\ntwo\n"),
    "Latin-1": (b"caf\xe9\ntwo\n", b"zero\ncaf\xe9\ntwo\n"),
    "empty before": (b"", b"one\n"),
    "empty after": (b"one\n", b""),
}


def changed(server: TestServer, *names: str) -> None:
    """Tells that a call has changed files of the project."""
    server.event("files_changed", paths=list(names))
    server.request("smith/readBuffer", {"uri": "file:///none"})


@pytest.fixture
def started(emacs: Emacs, server: TestServer, project: Path) -> Emacs:
    emacs.edit(project / "other.txt")
    emacs.start()
    until(emacs.is_ready)
    return emacs


def test_an_unmodified_buffer_takes_the_new_text_as_one_undo_step(
    started: Emacs, server: TestServer, project: Path
) -> None:
    for number, (before, after) in enumerate(KINDS.values()):
        path = project / f"{number}.txt"
        path.write_bytes(before)
        started.edit(path)
        text = started.lisp("(buffer-string)")
        started.lisp('(ignore (search-forward "two" nil t))')
        path.with_suffix(".new").write_bytes(after)
        path.with_suffix(".new").rename(path)
        changed(server, path.name)
        fresh = f"(with-temp-buffer (insert-file-contents {quoted(path)}) (buffer-string))"
        until(lambda: started.lisp(f"(equal (buffer-string) {fresh})"), path)  # noqa: B023
        if b"two" in after:
            assert started.lisp("(buffer-substring (- (point) 3) (point))") == "two"
        assert started.lisp("(buffer-modified-p)") is None
        assert started.lisp("(verify-visited-file-modtime)") is True
        started.lisp("(ignore (set-buffer-modified-p t) (save-buffer))")
        assert path.read_bytes() == after
        started.keys("\x0c\x1f")
        until(lambda: started.lisp("(buffer-string)") == text, path)  # noqa: B023


def test_a_buffer_with_unsaved_text_keeps_it_and_a_busy_one_waits(
    started: Emacs, server: TestServer, project: Path
) -> None:
    mine, busy = project / "mine.txt", project / "busy.txt"
    for path in (mine, busy):
        path.write_text("one\n")
        started.edit(path)
    started.lisp('(ignore (with-current-buffer "mine.txt" (insert "mine ")))')
    started.keys("\x00\x0e")
    until(lambda: started.lisp("mark-active"))
    for path in (mine, busy):
        path.with_suffix(".new").write_text("two, and more\n")
        path.with_suffix(".new").rename(path)
    changed(server, "mine.txt", "busy.txt")
    said = '(with-current-buffer "*Messages*" (buffer-string))'
    until(lambda: "mine.txt changed on disk; your unsaved text is kept" in started.lisp(said))
    assert started.lisp('(with-current-buffer "mine.txt" (buffer-string))') == "mine one\n"
    assert started.lisp("(buffer-string)") == "one\n"
    started.keys("\x07")
    until(lambda: started.lisp("(buffer-string)") == "two, and more\n")
