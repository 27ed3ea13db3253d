"""The edits that all editors share, played through the plug-in's own way from the request to the receipt."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.nvim.documents import text_hash
from tests.nvim.editor import TestEditor
from tests.nvim.server import TestServer, until

pytestmark = pytest.mark.nvim

VECTORS = Path(__file__).resolve().parents[1] / "vectors" / "edits.jsonl"


def vectors() -> list[Any]:
    return [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]


def on_disk(vector: dict[str, Any], text: str) -> bytes:
    """`text` as it is in the file of a vector."""
    return ("\ufeff" * vector.get("bom", False) + text).encode(vector.get("encoding", "utf-8"))


def test_the_shared_edits_become_what_they_are_to_become(editor: TestEditor, server: TestServer, project: Path) -> None:
    server.capabilities["positionEncoding"] = "utf-32"
    editor.edit(project / "first.txt")
    editor.start()
    editor.nvim.command("set hidden nofixeol")
    played, expected = {}, {}
    for vector in vectors():
        path = project / f"{vector['id']}.txt"
        before = on_disk(vector, vector["text"])
        path.write_bytes(before)
        editor.edit(path)
        document = server.document(path)
        base = text_hash(vector["text"]) if vector.get("base", "current") == "current" else vector["base"]
        receipt = server.apply(server.change(document, vector["edits"], base_hash=base))
        text = editor.lua("return require('smith.text').read(0).text")
        untouched = path.read_bytes() == before
        until(lambda: not editor.mode()["blocking"])
        editor.nvim.command("write")
        name = f"{vector['id']} {vector['note']}"
        saved = text_hash(path.read_bytes().decode(vector.get("encoding", "utf-8")).removeprefix("\ufeff"))
        played[name] = (receipt["status"], text, receipt.get("hash"), untouched, saved)
        after, is_applied = vector["after"], vector["status"] == "applied"
        expected[name] = (vector["status"], after, text_hash(after) if is_applied else None, True, text_hash(after))
    assert played == expected
    assert len(played) > 50
