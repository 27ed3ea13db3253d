from pathlib import Path
from typing import Any

import pytest

from smith_server.lsp.documents import Documents, path_uri
from smith_server.workspace.lsp_text import Counting, Ends
from smith_server.workspace.text import text_hash

URI = "file:///p/a.py"


def opened(text: str, ends: Ends = "lf") -> Documents:
    documents = Documents()
    documents.counting = Counting(ends=ends)
    documents.did_open({"textDocument": {"uri": URI, "version": 1, "text": text, "languageId": "python"}})
    return documents


def change(documents: Documents, version: int, *changes: dict[str, Any]) -> None:
    documents.did_change({"textDocument": {"uri": URI, "version": version}, "contentChanges": list(changes)})


def span(first: tuple[int, int], last: tuple[int, int], text: str) -> dict[str, Any]:
    start, end = ({"line": line, "character": character} for line, character in (first, last))
    return {"range": {"start": start, "end": end}, "text": text}


def text_of(documents: Documents) -> str:
    document = documents.get(URI)
    assert document is not None
    return document.text


def test_changes_are_taken_in_order() -> None:
    documents = opened("one\ntwo\n")
    change(documents, 2, span((0, 0), (0, 3), "1"), span((1, 0), (1, 0), "and "))
    assert text_of(documents) == "1\nand two\n"
    document = documents.get(URI)
    assert document is not None
    assert (document.version, document.trusted, document.hash) == (2, True, text_hash("1\nand two\n"))


def test_form_feed_and_line_separator_end_no_line() -> None:
    documents = opened("a\x0cb\u2028c\nd\n")
    change(documents, 2, span((1, 0), (1, 1), "D"))
    assert text_of(documents) == "a\x0cb\u2028c\nD\n"


@pytest.mark.parametrize(("ends", "line"), [("lf", 1), ("lsp", 2)])
def test_a_lone_carriage_return_ends_a_line_for_plain_clients_alone(ends: Ends, line: int) -> None:
    documents = opened("a\rb\nc\n", ends)
    change(documents, 2, span((line, 0), (line, 1), "C"))
    assert text_of(documents) == "a\rb\nC\n"


def test_a_snapshot_stays_as_it_was() -> None:
    documents = opened("one\n")
    before = documents.snapshot()
    change(documents, 2, span((0, 0), (0, 3), "two"))
    assert (before[URI].text, text_of(documents)) == ("one\n", "two\n")


@pytest.mark.parametrize(
    ("version", "changed"),
    [(1, span((0, 0), (0, 0), "x")), (0, span((0, 0), (0, 0), "x")), (2, span((0, 3), (0, 0), "x"))],
    ids=["the same version", "an older version", "a range that ends before it begins"],
)
def test_what_cannot_be_right_makes_a_document_untrusted(version: int, changed: dict[str, Any]) -> None:
    documents = opened("one\n")
    change(documents, version, changed)
    document = documents.get(URI)
    assert document is not None
    assert not document.trusted


def test_a_whole_text_makes_it_trusted_again() -> None:
    documents = opened("one\n")
    documents.distrust(URI)
    change(documents, 2, {"text": "fresh\n"})
    document = documents.get(URI)
    assert document is not None
    assert (document.text, document.trusted) == ("fresh\n", True)


def test_versions_may_jump_and_a_closed_document_is_gone() -> None:
    documents = opened("one\n")
    change(documents, 900, span((0, 0), (0, 0), "x"))
    assert text_of(documents) == "xone\n"
    documents.did_close({"textDocument": {"uri": URI}})
    assert documents.get(URI) is None


def test_a_file_is_found_under_any_of_its_names(tmp_path: Path) -> None:
    real = tmp_path / "real file.py"
    real.write_text("x")
    (tmp_path / "link.py").symlink_to(real)
    documents = Documents()
    documents.did_open({"textDocument": {"uri": path_uri(tmp_path / "link.py"), "version": 1, "text": "x"}})
    found = documents.at(real)
    assert found is not None
    assert found.path == tmp_path / "link.py"
    assert documents.at(tmp_path / "other.py") is None
