"""Exploration through the real server: open text, own files, deny rules, definitions kept between processes."""

import subprocess
from typing import Any

from tests.e2e.client import Client
from tests.e2e.world import World


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"call": name, "arguments": arguments}


def contents(client: Client) -> list[tuple[str, str]]:
    finished = [event for event in client.events if event["kind"] == "tool_call_finished"]
    return [(event["name"], event["content"]) for event in finished]


async def test_the_orchestrator_explores_what_stands_in_the_editor_and_asks_git(world: World) -> None:
    world.settings('active_role = "orchestrator"\n[approval]\ndeny = ["read(**/*.env)"]\n')
    (world.root / ".git").rmdir()
    subprocess.run(["git", "init", "-q"], cwd=world.root, env=world.environ, check=True)
    path = world.file("a.py", "def old(): pass\n")
    world.file("token.env", "typed = 1\n")
    world.script(
        [
            call("code_grep", pattern="typed"),
            call("code_symbols", query="typed"),
            call("code_outline", path="a.py"),
            call("code_files", query="*.*"),
            call("code_map"),
            call("git", args=["status", "--short"]),
        ],
        [{"text": "Seen."}],
    )
    client = await world.server()
    client.open(path, "def typed(): pass\n")
    answer = await client.run("smith.turn", text="look")
    assert answer["stop_reason"] == "completed"
    # They run side by side, so any of them may be the first to end.
    assert dict(contents(client)) == {
        "code_grep": "1 line in 1 file\na.py:\n  1: def typed(): pass",
        "code_symbols": "a.py:1: function: def typed(): pass",
        "code_outline": "1 def typed(): pass",
        "code_files": "a.py",
        "code_map": "./ 1 file; Python 100 %\na.py",
        "git": "?? a.py\n?? token.env",
    }
    assert [file.suffix for file in (world.home / "smith" / "cache" / "symbols").iterdir()] == [".symbols"]


async def test_a_file_that_was_written_in_this_turn_is_found_in_it(world: World) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    world.file("a.py", "")
    world.script(
        [call("code_files", query="*.py")],
        [call("write", path="b.py", content="x = 1\n")],
        [call("code_files", query="*.py")],
        [{"text": "Done."}],
    )
    client = await world.server()
    client.handlers["smith/readBuffer"] = lambda params: {"open": False}
    await client.run("smith.turn", text="go")
    assert [content for name, content in contents(client) if name == "code_files"] == ["a.py", "a.py\nb.py"]
