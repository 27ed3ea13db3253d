import pytest

from smith_server.codebase.heuristic import symbols_by_lines


def told(text, language):
    return [(each.depth, each.line, each.end, each.kind, each.name) for each in symbols_by_lines(text, language)]


def test_emacs_lisp_is_read_by_its_heads():
    text = """;;; a.el
(require 'b)

(defgroup a nil "A.")

;; Why.
(defun a-run (x)
  (let ((y 1))
    y))

(cl-defstruct (a-box (:copier nil))
  left)
(cl-defmethod a-open ((box a-box)) nil)
(define-minor-mode a-mode "A.")
(defconst a--limit 3)
"""
    assert told(text, "elisp") == [
        (0, 4, 4, "variable", "a"),
        (0, 7, 9, "function", "a-run"),
        (0, 11, 12, "class", "a-box"),
        (0, 13, 13, "function", "a-open"),
        (0, 14, 14, "function", "a-mode"),
        (0, 15, 15, "constant", "a--limit"),
    ]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "kotlin",
            "class A {\n  override fun run() {\n  }\n}\n",
            [(0, 1, 4, "class", "A"), (1, 2, 4, "method", "run")],
        ),
        (
            "markdown",
            "# A\ntext\n## B ##\n# C\n",
            [(0, 1, 3, "heading", "A"), (1, 3, 3, "heading", "B"), (0, 4, 4, "heading", "C")],
        ),
        ("sql", "create table if not exists a.b (c int);\n", [(0, 1, 1, "type", "a.b")]),
        ("make", "all: a b\n\tcc\nX := 1\n", [(0, 1, 3, "function", "all")]),
        ("perl", "sub run {\n}\n", [(0, 1, 2, "function", "run")]),
        ("", "just words\n", []),
    ],
    ids=["kotlin", "markdown", "sql", "make", "perl", "prose"],
)
def test_other_languages_are_read_by_their_words(language, text, expected):
    assert told(text, language) == expected


def test_a_file_of_nothing_but_heads_does_not_take_long():
    assert len(symbols_by_lines("fun a() {\n" * 50_000, "kotlin")) == 50_000
