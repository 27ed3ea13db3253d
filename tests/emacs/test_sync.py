"""The server's copy of open files is the text in Emacs, whatever happens to it."""

import random
import shutil
from pathlib import Path

import pytest

from tests.emacs.editor import Emacs, quoted
from tests.nvim.documents import text_hash
from tests.nvim.server import TestServer, until

pytestmark = pytest.mark.emacs

TEXT = "one\ntwo\nthree\n"
PIECES = ("x", "é😀", "\n", "two\nlines\n", "\r", "\u2028\x0c", "", "long " * 30, "no end\nhere")
OPERATIONS = (
    "(progn (goto-char {a}) (insert {piece}))",
    "(progn (goto-char {a}) (insert {piece}))",
    "(delete-region {a} {b})",
    "(progn (goto-char {a}) (delete-char (min 1 (- (point-max) (point)))))",
    "(progn (goto-char {a}) (kill-whole-line))",
    "(upcase-region {a} {b})",
    "(subst-char-in-region {a} {b} ?o ?0)",
    "(progn (goto-char {a}) (transpose-lines 1))",
    "(sort-lines nil {a} {b})",
    "(progn (undo-boundary) (setq last-command nil) (ignore-errors (undo)))",
    "(save-restriction (narrow-to-region {a} {b}) (insert {piece}))",
    "(let ((inhibit-modification-hooks t)) (goto-char {a}) (insert {piece}))",
    "(put-text-property {a} {b} 'face 'bold)",
    "(combine-after-change-calls (goto-char {a}) (insert {piece}) (goto-char {b}) (insert {piece}))",
    '(progn (goto-char {a}) (while (search-forward "o" nil t) (replace-match "OO" t)))',
    "(translate-region {a} {b} (let ((map (make-string 128 0))) (dotimes (i 128 map) (aset map i (logxor i 1)))))",
    "(erase-buffer)",
)


@pytest.fixture
def path(project: Path) -> Path:
    return project / "a.txt"


def opened(emacs: Emacs, path: Path, content: bytes | str = TEXT) -> None:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    emacs.edit(path)
    emacs.start()
    until(emacs.is_ready)


def names(server: TestServer) -> set[str]:
    return {Path(uri).name for uri in server.documents}


def flush(emacs: Emacs) -> None:
    emacs.lisp("(smith-sync-flush-all)")


def agree(emacs: Emacs, server: TestServer, path: Path) -> str:
    """The text in Emacs, which the server must have."""
    flush(emacs)
    text = emacs.text() or ""
    until(lambda: server.document(path).text == text, f"for {text!r}, which is {server.document(path).text!r} there")
    return text


def operation(draw: random.Random) -> str:
    """Something that happens to the text between two places."""
    one, two = sorted(draw.random() for _ in "ab")
    where = (
        "(let ((beg (1+ (truncate (* {one:.4f} (buffer-size))))) (end (1+ (truncate (* {two:.4f} (buffer-size)))))) "
    )
    form = draw.choice(OPERATIONS[:-1] if draw.random() < 0.98 else OPERATIONS)
    return (where + form + ")").format(one=one, two=two, a="beg", b="end", piece=quoted(draw.choice(PIECES)))


@pytest.mark.parametrize(
    "content", [TEXT, "one\r\ntwo\r\nthree\r\n", "no\nend", ""], ids=["lf", "crlf", "no-end", "empty"]
)
def test_random_changes_arrive(emacs: Emacs, server: TestServer, path: Path, content: str) -> None:
    opened(emacs, path, content)
    draw = random.Random(content)
    for _ in range(50):
        for _ in range(draw.randint(1, 5)):
            emacs.lisp(f"(ignore {operation(draw)})")
        agree(emacs, server, path)


def test_a_small_change_is_sent_as_one(emacs: Emacs, server: TestServer, path: Path) -> None:
    opened(emacs, path, "line é\n" * 1000)
    server.document(path)
    emacs.lisp('(ignore (goto-char (point-min)) (forward-line 500) (insert "x") (forward-char 4) (insert "y"))')
    agree(emacs, server, path)
    [change] = server.sent("textDocument/didChange")
    assert change["contentChanges"] == [
        {
            "range": {"start": {"line": 500, "character": 0}, "end": {"line": 501, "character": 0}},
            "text": "xliney é\n",
        }
    ]


def test_what_is_typed_arrives_by_itself(emacs: Emacs, server: TestServer, path: Path) -> None:
    opened(emacs, path)
    server.document(path)
    emacs.keys("typed")
    assert until(lambda: server.document(path).text == "typed" + TEXT)


@pytest.mark.parametrize("how", ["indirect", "clone", "inhibited"])
def test_text_that_changes_without_telling_is_sent_whole(
    emacs: Emacs, server: TestServer, path: Path, how: str
) -> None:
    opened(emacs, path)
    server.document(path)
    make = {
        "indirect": '(with-current-buffer (make-indirect-buffer (current-buffer) "other") (insert "quiet "))',
        "clone": '(with-current-buffer (make-indirect-buffer (current-buffer) "other" t) (insert "quiet "))',
        "inhibited": '(let ((inhibit-modification-hooks t)) (insert "quiet "))',
    }
    emacs.lisp(f"(ignore {make[how]})")
    assert agree(emacs, server, path) == "quiet " + TEXT
    emacs.type("heard ")
    agree(emacs, server, path)
    if how == "clone":
        emacs.lisp('(kill-buffer "other")')
        emacs.type("and ")
        agree(emacs, server, path)
    assert server.document(path).opened == 1


def test_only_cr_is_sent_whole(emacs: Emacs, server: TestServer, path: Path) -> None:
    opened(emacs, path, b"one\rtwo\r")
    assert server.document(path).text == "one\rtwo\r"
    emacs.type("zero\n")
    assert agree(emacs, server, path) == "zero\rone\rtwo\r"
    assert server.sent("textDocument/didChange")[-1]["contentChanges"] == [{"text": "zero\rone\rtwo\r"}]


def test_every_file_under_the_root_is_open_however_it_came(
    emacs: Emacs, server: TestServer, project: Path, tmp_path: Path
) -> None:
    for name in ("before", "after", "sub/deep", "quiet"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(name + "\n")
    (tmp_path / "outside").write_text("x\n")
    (tmp_path / "way").symlink_to("project")
    emacs.edit(project / "before")
    emacs.start()
    until(lambda: names(server) == {"before"})
    emacs.edit(project / "after")
    emacs.edit(tmp_path / "way" / "sub" / "deep")
    emacs.edit(tmp_path / "outside")
    until(lambda: names(server) == {"before", "after", "deep"})
    emacs.lisp(f"(let (find-file-hook) (ignore (find-file-noselect {quoted(project / 'quiet')})))")
    emacs.lisp(f'(with-current-buffer (generate-new-buffer "new") (set-visited-file-name {quoted(project / "new")}))')
    flush(emacs)
    assert until(lambda: names(server) == {"before", "after", "deep", "quiet", "new"})
    emacs.lisp('(kill-buffer "after")')
    assert until(lambda: names(server) == {"before", "deep", "quiet", "new"})


def test_another_name_is_another_document(emacs: Emacs, server: TestServer, path: Path) -> None:
    opened(emacs, path)
    server.document(path)
    emacs.lisp(f"(write-file {quoted(path.with_name('b.txt'))})")
    flush(emacs)
    assert until(lambda: names(server) == {"b.txt"})
    emacs.type("x")
    assert agree(emacs, server, path.with_name("b.txt")) == "x" + TEXT


def test_other_line_ends_send_the_text_again(emacs: Emacs, server: TestServer, path: Path) -> None:
    opened(emacs, path)
    server.document(path)
    emacs.lisp("(set-buffer-file-coding-system 'utf-8-dos)")
    assert agree(emacs, server, path) == "one\r\ntwo\r\nthree\r\n"
    emacs.type("x\n")
    assert agree(emacs, server, path).startswith("x\r\none")


def test_a_buffer_that_is_read_again_and_gets_another_mode_stays_open(
    emacs: Emacs, server: TestServer, path: Path
) -> None:
    opened(emacs, path)
    server.document(path)
    path.write_text("from elsewhere\n" + TEXT)
    emacs.lisp("(revert-buffer t t)")
    assert agree(emacs, server, path) == "from elsewhere\n" + TEXT
    emacs.lisp("(ignore (prog-mode))")
    emacs.type("x")
    assert agree(emacs, server, path).startswith("x")
    assert server.document(path).opened == 1


def test_text_that_is_no_unicode_is_closed_until_it_is_again(emacs: Emacs, server: TestServer, path: Path) -> None:
    opened(emacs, path)
    server.document(path)
    emacs.lisp("(ignore (goto-char (point-max)) (insert (string #x3fffe0)))")
    flush(emacs)
    until(lambda: names(server) == set())
    answer = server.request("smith/readBuffer", {"uri": path.as_uri(), "real_path": str(path)})
    assert answer == {"code": -32803, "message": "the buffer holds bytes that are no Unicode text"}
    emacs.lisp("(delete-char -1)")
    assert agree(emacs, server, path) == TEXT


@pytest.mark.parametrize(
    ("content", "form", "expected"),
    [
        (b"one\n", "nil", {"text": "one\n", "encoding": "utf-8", "eol": "lf", "bom": False, "final_newline": True}),
        (b"a\r\nb", "nil", {"text": "a\r\nb", "eol": "crlf", "bom": False, "final_newline": False}),
        (b"\xef\xbb\xbf\xc3\xa9\n", "nil", {"text": "é\n", "encoding": "utf-8", "eol": "lf", "bom": True}),
        (b"\xe9\n", "nil", {"text": "é\n", "encoding": "iso-8859-1"}),
        (b"", "nil", {"text": "", "modified": False}),
        (b"one\n", '(insert "x")', {"text": "xone\n", "modified": True}),
    ],
)
def test_a_buffer_is_read_with_what_travels_beside_its_text(
    emacs: Emacs, server: TestServer, path: Path, content: bytes, form: str, expected: dict[str, object]
) -> None:
    opened(emacs, path, content)
    emacs.lisp(form)
    answer = server.request("smith/readBuffer", {"uri": path.as_uri(), "real_path": str(path)})
    assert (answer["open"], answer["uri"]) == (True, path.as_uri())
    assert {key: answer[key] for key in expected} == expected
    assert (answer["version"], text_hash(answer["text"])) == (
        server.document(path).version,
        server.document(path).hash,
    )


def test_a_file_is_found_by_any_of_its_names_and_a_closed_one_is_not(
    emacs: Emacs, server: TestServer, project: Path, path: Path
) -> None:
    link, hard = project / "link.txt", project / "hard.txt"
    link.symlink_to("a.txt")
    path.write_text(TEXT)
    hard.hardlink_to(path)
    opened(emacs, link)
    for name in (path, link, hard):
        answer = server.request("smith/readBuffer", {"uri": name.as_uri(), "real_path": str(name.resolve())})
        assert (answer["open"], answer["uri"]) == (True, link.as_uri())
    closed = (project / "closed").as_uri()
    assert server.request("smith/readBuffer", {"uri": closed, "real_path": "/"}) == {"open": False}
    document = server.document(link)
    change = server.change(document, [document.edit(0, "one", "1")], uri=path.as_uri())
    assert server.apply(change)["status"] == "applied"
    assert server.document(link).text == "1\ntwo\nthree\n"


def save(server: TestServer, *paths: Path) -> list[tuple[str, str | None]]:
    answer = server.request("smith/saveBuffers", {"uris": [path.as_uri() for path in paths], "reason": "bash"})
    return [(result["status"], result.get("message")) for result in answer["results"]]


def test_buffers_are_saved_or_refused_and_nobody_is_asked(emacs: Emacs, server: TestServer, path: Path) -> None:
    opened(emacs, path)
    emacs.type("x")
    assert save(server, path, path.with_name("closed")) == [("saved", None), ("refused", "no buffer visits this file")]
    assert path.read_text() == "x" + TEXT
    assert save(server, path) == [("saved", None)]
    emacs.type("y")
    emacs.lisp("(setq buffer-read-only t)")
    assert save(server, path) == [("refused", "the buffer is read-only")]
    emacs.lisp("(setq buffer-read-only nil)")
    path.write_text("from elsewhere\n")
    assert save(server, path) == [("refused", "the file on disk changed since it was read")]
    assert path.read_text() == "from elsewhere\n"
    emacs.lisp(
        '(progn (set-visited-file-modtime) (add-hook \'write-file-functions (lambda () (read-string "Why? ")) nil t))'
    )
    [(status, message)] = save(server, path)
    assert (status, message) == ("refused", "User interaction while inhibited")
    assert path.read_text() == "from elsewhere\n"
    assert emacs.lisp("(minibuffer-depth)") == 0


def test_a_buffer_with_another_text_than_the_meant_one_is_not_saved(
    emacs: Emacs, server: TestServer, path: Path
) -> None:
    opened(emacs, path)
    emacs.type("x")
    question = {"uris": [path.as_uri()], "reason": "bash", "base_hashes": [text_hash(TEXT)]}
    assert server.request("smith/saveBuffers", question)["results"][0]["status"] == "stale"
    assert path.read_text() == TEXT
    question["base_hashes"] = [text_hash("x" + TEXT)]
    assert server.request("smith/saveBuffers", question)["results"][0]["status"] == "saved"
    assert path.read_text() == "x" + TEXT


def test_a_folder_that_is_gone_refuses_the_save(emacs: Emacs, server: TestServer, project: Path, path: Path) -> None:
    opened(emacs, path)
    lost = project / "gone" / "b.txt"
    lost.parent.mkdir()
    emacs.edit(lost)
    emacs.type("x")
    shutil.rmtree(lost.parent)
    assert save(server, lost) == [("refused", "the file cannot be written")]


def test_a_server_that_ends_leaves_nothing_behind(emacs: Emacs, server: TestServer, path: Path) -> None:
    opened(emacs, path)
    server.document(path)
    emacs.lisp("(smith-stop)")
    until(lambda: server.sent("exit"))
    until(lambda: emacs.lisp("(null smith-rpc--connections)"))
    left = """
        (list smith-sync--doc
              (memq 'smith-sync--changed after-change-functions)
              (memq 'smith-sync--found-file find-file-hook)
              (seq-filter (lambda (buffer) (string-match-p "smith [/]" (buffer-name buffer))) (buffer-list)))
    """
    assert emacs.lisp(left) == [None, None, None, None]
    emacs.keys("typed on")
    until(lambda: emacs.text().startswith("typed on"))
    emacs.start()
    assert until(lambda: server.document(path).text == "typed on" + TEXT)
