import json
from pathlib import Path
from typing import Any

import pytest

from tests.nvim.editor import TestEditor

pytestmark = pytest.mark.nvim

VECTORS = Path(__file__).resolve().parents[1] / "vectors" / "hash.jsonl"
# The hash of this one is of the text behind the last ^Z, which Neovim drops from a file with CRLF.
CTRL_Z = b"a\r\nb\r\n\x1a"


def vectors() -> list[Any]:
    lines = VECTORS.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def test_the_hash_of_a_buffer_is_the_one_of_the_shared_vectors(editor: TestEditor, project: Path) -> None:
    found, expected = {}, {}
    for number, vector in enumerate(vectors()):
        raw = vector["bytes_latin1"].encode("latin-1") * vector.get("repeat", 1)
        raw += vector.get("then_latin1", "").encode("latin-1")
        if b"\x00" in raw and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            continue
        path = project / f"{number}.txt"
        path.write_bytes(raw)
        editor.edit(path)
        note = f"{number} {vector.get('note')}"
        found[note] = editor.lua("local t = require('smith.text'); return t.hash(t.read(0).text)")
        expected[note] = "58055bdcc73787eb" if raw == CTRL_Z else vector["hash"]
    assert found == expected
    assert len(found) > 20
