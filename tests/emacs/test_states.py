"""An edit waits for a person who is in the middle of a command; driven by keys on a terminal."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.emacs.editor import Emacs
from tests.nvim.documents import text_hash
from tests.nvim.server import TestServer, until

pytestmark = pytest.mark.emacs

TEXT = "".join(f"line {number} foo\n" for number in range(1, 11))
ESC = "\x1b"
C_G = "\x07"
C_S = "\x13"
C_X = "\x18"
C_U = "\x15"
C_Q = "\x11"
C_SPACE = "\x00"


@dataclass
class State:
    """Keys that lead into a state, how it is seen there, keys that lead out, and what the edit becomes."""

    name: str
    enter: str
    seen: str
    leave: str = C_G
    first: str = "deferred"
    last: str = "applied"
    setup: str = ""


READ_ONE = '(global-set-key [?\\C-c ?r] (lambda () (interactive) (read-char "Which? ")))'
WAIT_A_BIT = (
    "(global-set-key [?\\C-c ?w] (lambda () (interactive) (let ((place (point))) (sit-for 0.4) (goto-char place))))"
)
COMPLETE = (
    "(progn (local-set-key [?\\C-c ?c] 'completion-at-point) (setq-local completion-at-point-functions "
    '(list (lambda () (list (line-beginning-position) (point) \'("line" "lime" "lint"))))))'
)
STATES = [
    State("nothing going on", "", "t", first="applied"),
    State("a keyboard macro recorded", C_X + "(", "defining-kbd-macro", C_X + ")", first="applied"),
    State("a region in another buffer", C_X + "2" + C_X + "b*scratch*\r" + C_SPACE, "mark-active", first="applied"),
    State("minibuffer", ESC + "x", "(> (minibuffer-depth) 0)"),
    State(
        "a question",
        C_X + "k*scratch*\r",
        "(> (minibuffer-depth) 0)",
        setup='(add-hook \'kill-buffer-query-functions (lambda () (yes-or-no-p "Really? ")))',
    ),
    State("search", C_S + "foo", "isearch-mode", "\r"),
    State("search that is given up", C_S + "foo", "isearch-mode", C_G),
    State("region", C_SPACE + "\x0e", "mark-active"),
    State("rectangle", C_X + " \x0e", "rectangle-mark-mode", C_G),
    State("prefix key", C_X, "(> (length (this-single-command-keys)) 0)"),
    State("numeric prefix", C_U + "4", "prefix-arg"),
    State("quoted insert", C_Q, "(eq this-command 'quoted-insert)", "x", last="stale"),
    State("query-replace", ESC + "%foo\rbar\r", "(eq this-command 'query-replace)", "q"),
    State("query-replace with a yes", ESC + "%foo\rbar\r", "(eq this-command 'query-replace)", "yq", last="stale"),
    State(
        "recursive edit", ":", "(> (recursion-depth) 0)", ESC + "\x03", setup='(global-set-key ":" #\'recursive-edit)'
    ),
    State("a key that a command reads", "\x03r", "this-command", "x", setup=READ_ONE),
    State("a command that waits", "\x03w", "this-command", "", setup=WAIT_A_BIT),
    State("dynamic abbreviation", "\x0fl" + ESC + "/", "(eq last-command 'dabbrev-expand)", "\x0e"),
    State(
        "completion in the buffer",
        "\x0fl\x03c\x03c",
        "completion-in-region-mode",
        setup=COMPLETE,
    ),
]


def opened(emacs: Emacs, server: TestServer, project: Path) -> Path:
    path = project / "a.txt"
    path.write_text(TEXT)
    emacs.edit(path)
    emacs.start()
    until(emacs.is_ready)
    server.document(path)
    return path


def insertion(server: TestServer, path: Path, **other: Any) -> dict[str, Any]:
    document = server.document(path)
    return server.change(document, [document.edit(0, "", "agent\n")], **other)


def in_buffer(emacs: Emacs, path: Path) -> str:
    value: str = emacs.lisp(f'(with-current-buffer (find-buffer-visiting "{path}") (smith-text-read))')
    return value


def in_step(emacs: Emacs, server: TestServer, path: Path) -> str:
    """The text that editor and server agree on, once they do."""

    def agreed() -> str:
        text = in_buffer(emacs, path)
        return text if server.document(path).text == text else ""

    return until(agreed)


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_an_edit_waits_for_the_person_where_it_must_and_only_there(
    emacs: Emacs, server: TestServer, project: Path, state: State
) -> None:
    path = opened(emacs, server, project)
    emacs.lisp("(progn (goto-char (point-min)) (forward-line 4))")
    if state.setup:
        emacs.lisp(f"(ignore {state.setup})")
    emacs.keys(state.enter)
    until(lambda: emacs.lisp(f"(and {state.seen} t)"))
    before = TEXT if state.first == "applied" else in_step(emacs, server, path)
    change = insertion(server, path)

    first = server.apply(change)
    assert first["status"] == state.first
    assert server.sent("smith/editDone") == []
    emacs.keys(state.leave)
    receipt = first if state.first == "applied" else server.done(change["change"])

    assert receipt["status"] == state.last, receipt
    after = in_step(emacs, server, path)
    if state.last == "applied":
        assert receipt["hash"] == text_hash(after)
        assert after == "agent\n" + before
    else:
        assert "agent" not in after
        assert receipt["current"]["text"] == "line 1 foo"
    assert len(server.sent("smith/editDone")) == (0 if state.first == "applied" else 1)


def test_typing_while_an_edit_waits_makes_it_stale_and_keeps_every_character(
    emacs: Emacs, server: TestServer, project: Path
) -> None:
    path = opened(emacs, server, project)
    emacs.keys(C_S + "line 3")
    until(lambda: emacs.lisp("(and isearch-mode t)"))
    change = insertion(server, path)
    assert server.apply(change)["status"] == "deferred"
    emacs.keys("\r, mine")
    assert server.done(change["change"])["status"] in ("stale", "applied")
    until(lambda: ", mine" in in_buffer(emacs, path))
    assert in_buffer(emacs, path).replace("agent\n", "") == TEXT.replace("line 3", "line 3, mine")


def test_a_deferred_edit_expires_at_its_deadline(emacs: Emacs, server: TestServer, project: Path) -> None:
    path = opened(emacs, server, project)
    emacs.keys(ESC + "x")
    until(lambda: emacs.lisp("(minibuffer-depth)"))
    change = insertion(server, path, deadline_ms=150)
    assert server.apply(change)["status"] == "deferred"
    assert server.done(change["change"])["status"] == "expired"
    emacs.keys(C_G)
    until(lambda: emacs.lisp("(= (minibuffer-depth) 0)"))
    assert in_buffer(emacs, path) == TEXT


def test_a_deferred_edit_that_is_taken_back_is_never_made(emacs: Emacs, server: TestServer, project: Path) -> None:
    path = opened(emacs, server, project)
    emacs.keys(ESC + "x")
    until(lambda: emacs.lisp("(minibuffer-depth)"))
    change = insertion(server, path)
    assert server.apply(change)["status"] == "deferred"
    assert server.apply(change)["status"] == "deferred"
    server.notify("smith/withdrawEdit", {"change": change["change"]})
    assert server.done(change["change"])["status"] == "withdrawn"
    server.notify("smith/withdrawEdit", {"change": change["change"]})
    emacs.keys(C_G)
    until(lambda: emacs.lisp("(= (minibuffer-depth) 0)"))
    document = server.document(path)
    assert server.apply(server.change(document, [document.edit(1, "", "second\n")]))["status"] == "applied"
    assert [report["status"] for report in server.sent("smith/editDone")] == ["withdrawn"]
    assert in_buffer(emacs, path).splitlines()[:2] == ["line 1 foo", "second"]


def test_several_edits_that_wait_are_made_in_order(emacs: Emacs, server: TestServer, project: Path) -> None:
    path = opened(emacs, server, project)
    other = project / "b.txt"
    other.write_text(TEXT)
    emacs.lisp(f'(ignore (find-file-noselect "{other}"))')
    emacs.keys(ESC + "x")
    until(lambda: emacs.lisp("(minibuffer-depth)"))
    changes = [insertion(server, place) for place in (path, other)]
    assert [server.apply(change)["status"] for change in changes] == ["deferred", "deferred"]
    emacs.keys(C_G)
    assert [server.done(change["change"])["status"] for change in changes] == ["applied", "applied"]
    done = [report["change"] for report in server.sent("smith/editDone")]
    assert done == [change["change"] for change in changes]


def test_waiting_edits_cost_no_time_and_nothing_waits_afterwards(
    emacs: Emacs, server: TestServer, project: Path
) -> None:
    path = opened(emacs, server, project)
    emacs.lisp("(progn (setq tries 0) (advice-add 'smith-ready-obstacle :before (lambda (_) (setq tries (1+ tries)))))")
    emacs.keys(ESC + "x")
    until(lambda: emacs.lisp("(minibuffer-depth)"))
    change = insertion(server, path, deadline_ms=500)
    assert server.apply(change)["status"] == "deferred"
    server.done(change["change"])
    assert 2 <= emacs.lisp("tries") <= 10
    emacs.keys(C_G)
    until(lambda: emacs.lisp("(= (minibuffer-depth) 0)"))
    left = emacs.lisp("(list smith-ready--jobs smith-ready--timer (memq 'smith-ready--try-soon post-command-hook))")
    assert left == [None, None, None]


def test_saving_waits_for_the_end_of_a_command(emacs: Emacs, server: TestServer, project: Path) -> None:
    path = opened(emacs, server, project)
    emacs.type("mine\n")
    emacs.keys(C_S + "foo")
    until(lambda: emacs.lisp("(and isearch-mode t)"))
    answer = server.ask("smith/saveBuffers", {"uris": [path.as_uri()], "reason": "bash"})
    assert emacs.lisp("(and isearch-mode t)")
    assert not answer.done()
    emacs.keys("\r")
    assert answer.result(10) == {"results": [{"uri": path.as_uri(), "status": "saved"}]}
    assert path.read_text() == "mine\n" + TEXT


def test_what_is_typed_before_and_after_an_edit_is_undone_apart_from_it(
    emacs: Emacs, server: TestServer, project: Path
) -> None:
    path = opened(emacs, server, project)
    emacs.keys(ESC + ">before")
    until(lambda: in_buffer(emacs, path).endswith("before"))
    in_step(emacs, server, path)
    document = server.document(path)
    edits = [
        document.edit(0, "line 1", "LINE 1"),
        document.edit(2, "", "between\n"),
        document.edit(4, "line 5 foo\n", ""),
    ]
    assert server.apply(server.change(document, edits))["status"] == "applied"
    edited = TEXT.replace("line 1 ", "LINE 1 ").replace("line 3", "between\nline 3").replace("line 5 foo\n", "")
    emacs.keys("after")
    until(lambda: in_buffer(emacs, path).endswith("after"))
    assert undone(emacs, path, 3) == [edited + "beforeafter", edited + "before", TEXT + "before", TEXT]
    assert not emacs.lisp("(buffer-modified-p)")


def undone(emacs: Emacs, path: Path, times: int) -> list[str]:
    """The text now, and after each of so many undos."""
    steps = [in_buffer(emacs, path)]
    for _ in range(times):
        emacs.keys("\x1f")
        until(lambda: in_buffer(emacs, path) != steps[-1], f"of {steps}")
        steps.append(in_buffer(emacs, path))
    return steps


def test_edits_between_single_letters_are_steps_of_their_own(emacs: Emacs, server: TestServer, project: Path) -> None:
    path = opened(emacs, server, project)
    emacs.keys(ESC + ">")
    until(lambda: emacs.lisp("(eobp)"))
    texts = [TEXT]
    for letter in "abc":
        emacs.keys(letter)
        texts.append(texts[-1] + letter)
        until(lambda: in_buffer(emacs, path) == texts[-1])
        while server.apply(insertion(server, path))["status"] == "stale":
            continue
        texts.append("agent\n" + texts[-1])
    assert undone(emacs, path, 6) == texts[::-1]


def test_two_edits_in_a_row_are_two_steps_of_undo(emacs: Emacs, server: TestServer, project: Path) -> None:
    path = opened(emacs, server, project)
    for line in (0, 1):
        document = server.document(path)
        assert server.apply(server.change(document, [document.edit(line, "line", "LINE")]))["status"] == "applied"
    emacs.keys("\x1f")
    until(lambda: in_buffer(emacs, path) == TEXT.replace("line 1 ", "LINE 1 "))


def test_typing_goes_on_in_its_line_while_edits_come_in_above(emacs: Emacs, server: TestServer, project: Path) -> None:
    path = opened(emacs, server, project)
    emacs.keys(ESC + ">")
    until(lambda: emacs.lisp("(eobp)"))
    words = [f"word{number} " for number in range(40)]
    applied = 0
    for word in words:
        emacs.keys(word)
        # The first one is for a text without this word; a refusal brings the new one.
        while (receipt := server.apply(insertion(server, path)))["status"] == "stale":
            continue
        assert receipt["status"] == "applied"
        applied += 1
        assert receipt["hash"] == server.document(path).hash
    until(lambda: in_buffer(emacs, path).endswith(words[-1]))
    assert in_step(emacs, server, path) == "agent\n" * applied + TEXT + "".join(words)
