import asyncio
import os
import sys
from pathlib import Path

import pytest

from smith_server.core.errors import ToolRefusal
from smith_server.proc.guard import Guard
from smith_server.proc.looking import Looked, Looking, Lookout
from smith_server.proc.programs import bundled, installed


class Taken(bytearray):
    def take(self, piece: bytes) -> bool:
        self += piece
        return True


def shell(script: str, folder: Path, seconds: float = 20.0, **more) -> Looking:
    return Looking(("/bin/sh", "-c", script), folder, seconds, **more)


async def test_output_errors_and_code_come_back(tmp_path):
    taken = Taken()
    looked = await Lookout().run(shell("echo out; echo err >&2; exit 3", tmp_path), taken.take)
    assert (looked, bytes(taken)) == (Looked("itself", 3, b"err\n"), b"out\n")


async def test_input_of_any_size_goes_through_while_output_is_taken(tmp_path):
    data = bytes(range(256)) * 20_000
    taken = Taken()
    looked = await Lookout().run(shell("cat", tmp_path, input=data), taken.take)
    assert (looked.ended, bytes(taken) == data) == ("itself", True)
    assert (await Lookout().run(shell("exec true", tmp_path, input=data), taken.take)).code == 0
    assert (await Lookout().run(shell("cat", tmp_path), taken.take)).code == 0


async def test_only_a_few_variables_are_passed_on(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "secret-value")
    taken = Taken()
    await Lookout().run(shell("env", tmp_path, variables={"MINE": "1"}), taken.take)
    names = {line.partition("=")[0] for line in taken.decode().splitlines()}
    assert names <= {"PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME", "LC_ALL", "MINE", "PWD", "SHLVL", "_", "OLDPWD"}
    assert "MINE" in names


async def test_one_that_goes_on_is_ended_at_the_limit_with_its_children(tmp_path):
    taken = Taken()
    looked = await Lookout().run(shell("sleep 61 & echo $!; sleep 62", tmp_path, 0.4), taken.take)
    assert (looked.ended, looked.code) == ("limit", -9)
    await gone(int(taken))


async def test_one_that_has_said_enough_is_ended(tmp_path):
    looked = await Lookout().run(shell("yes", tmp_path), lambda piece: False)
    assert looked.ended == "enough"


async def test_a_cancel_ends_it(tmp_path):
    guard = Guard()
    began = asyncio.Event()
    loop = asyncio.get_running_loop()
    taken = Taken()

    def take(piece: bytes) -> bool:
        goes_on = taken.take(piece)
        loop.call_soon_threadsafe(began.set)
        return goes_on

    work = asyncio.ensure_future(Lookout(guard).run(shell("echo $$; sleep 63", tmp_path), take))
    await began.wait()
    assert guard.groups == {int(taken)}
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    await gone(int(taken))
    assert guard.groups == frozenset()
    guard.close()


@pytest.mark.parametrize("program", ["/no/such/program", "relative\0name"])
async def test_what_cannot_be_started_is_refused_by_name(tmp_path, program):
    with pytest.raises(ToolRefusal) as refusal:
        await Lookout().run(Looking((program,), tmp_path, 1.0), lambda piece: True)
    assert refusal.value.error.code == "not_started"


def test_programs_are_found_outside_of_the_project_only(tmp_path):
    project, outside = tmp_path / "project", tmp_path / "bin"
    for folder in (project, outside):
        folder.mkdir()
        (folder / "tool").write_text("#!/bin/sh\n")
        (folder / "tool").chmod(0o755)
    (tmp_path / "way").symlink_to(project)
    (outside / "linked").symlink_to(project / "tool")
    path = f"{project}:.::{tmp_path}/way:{outside}"
    assert installed("tool", project, {"PATH": path}) == str(outside / "tool")
    for name in ("linked", "missing"):
        with pytest.raises(ToolRefusal) as refusal:
            installed(name, project, {"PATH": path})
        assert refusal.value.error.code == "program_missing"


def test_a_program_of_our_own_environment_is_found_without_a_path():
    found = bundled("rg")
    assert found is not None
    assert Path(found).is_relative_to(sys.prefix)
    assert os.access(found, os.X_OK)
    assert bundled("no-such-program") is None


async def gone(pid: int) -> None:
    async with asyncio.timeout(5):
        while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2:3]:
            await asyncio.sleep(0.01)
