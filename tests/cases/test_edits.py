import json
import os
import socket
import stat
from pathlib import Path

import msgspec
import pytest

from smith_server.core.errors import AgentFailure
from smith_server.workspace.edits import LineEdit
from smith_server.workspace.lsp_text import TextEdit, apply_edits
from smith_server.workspace.paths import locate
from smith_server.workspace.text import decode, text_hash
from smith_server.workspace.texts import Texts
from tests.fakes.editor import FakeEditor

FILE = Path(os.environ.get("SMITH_CASES_DIR", Path(__file__).parent)) / "edits.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()] if FILE.exists() else []


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
async def test_edits(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given, expected = case["input"], case["expected"]
    if given["op"]["kind"] == "lsp":
        assert lsp(given) == expected
        return
    make(given)
    before = look()
    outcome = await play(given, tmp_path)
    assert {key: outcome.get(key) for key in expected} == expected
    assert "error" not in expected or look() == before
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".smith")) == []


def content(given):
    return given["bytes_latin1"].encode("latin-1") * given.get("repeat", 1)


def make(given):
    data, target = content(given), given.get("target", "")
    path = Path("target" if target == "symlink" else "file")
    if target in ("symlink", "dangling_symlink"):
        Path("file").symlink_to("target")
    match target:
        case "missing" | "dangling_symlink":
            return
        case "directory":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(str(path))
        case _:
            path.write_bytes(data)
            path.chmod(int(given.get("mode", "0644"), 8))


async def play(given, folder):
    texts = Texts(FakeEditor(), most_bytes=given.get("max_bytes", 10_000_000), environment={"HOME": str(folder)})
    current = text_hash(decode(content(given)).text)
    known = {"current": current, "stale": "0" * 16, None: ""}[given["hash"]]
    try:
        plan = await texts.change(locate("file", folder), edit(given["op"]), known)
    except AgentFailure as problem:
        return {"error": problem.error.code}
    return {"line_delta": plan.made.line_delta, **written(Path("file"))}


def written(path):
    return {
        "bytes_latin1": path.read_bytes().decode("latin-1"),
        "mode": f"0{stat.S_IMODE(path.stat().st_mode):o}",
        "still_symlink": path.is_symlink(),
    }


def edit(op):
    match op["kind"]:
        case "insert":
            return LineEdit("insert", op["after_line"] + 1, op["after_line"], op["text"])
        case kind:
            return LineEdit(kind, op["start"], op["end"], op.get("text", ""))


def lsp(given):
    decoded = decode(content(given))
    try:
        text = apply_edits(decoded.text, msgspec.convert(given["op"]["edits"], list[TextEdit]))
    except AgentFailure as problem:
        return {"error": problem.error.code}
    return {"bytes_latin1": (decoded.bom + text.encode()).decode("latin-1")}


def look():
    path = Path("file")
    if not path.is_symlink() and not path.exists():
        return None
    status = path.stat() if path.exists() else path.lstat()
    data = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
    return path.is_symlink(), status.st_mode, status.st_ino, data
