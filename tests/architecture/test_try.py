"""`tools/try` offers a small model where there is none, and installs it after a yes alone."""

import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from smith_server.llm.local import is_installed

REPO = Path(__file__).resolve().parents[2]
FAKE = """
from pathlib import Path
REPO, VENV, PYTHON = Path("{repo}"), Path("{folder}"), "{asked}"
class SetupFailed(Exception): pass
def ensure(name, *, shown=False): print("ensured", name, shown)
"""


def spawned(folder: Path, asked: str) -> pexpect.spawn:
    (folder / "environment.py").write_text(FAKE.format(repo=REPO, folder=folder, asked=asked))
    driver = folder / "driver.py"
    driver.write_text(
        f"import runpy\nrunpy.run_path({str(REPO / 'tools' / 'start.py')!r})['offer_model']()\nprint('on')"
    )
    return pexpect.spawn(sys.executable, [str(driver)], encoding="utf-8", timeout=30)


@pytest.mark.parametrize(
    ("answer", "ensured"),
    [("y", True), ("yes", True), ("", False), ("n", False), ("\x04", False)],
    ids=["y", "yes", "nothing", "n", "end of input"],
)
def test_the_small_model_is_installed_after_a_yes_that_follows_its_terms(
    answer: str, ensured: bool, tmp_path: Path
) -> None:
    asking = spawned(tmp_path, "/bin/false")
    asking.setwinsize(24, 100)
    asking.expect_exact("[y/N] ")
    assert [line for line in asking.before.splitlines() if len(line) > 80] == []
    assert "Gemma Terms of Use" in asking.before
    asking.send(answer if answer == "\x04" else f"{answer}\r")
    asking.expect(pexpect.EOF)
    assert ("ensured local True" in asking.before) is ensured
    assert asking.before.rstrip().endswith("on")


def test_who_has_a_model_is_asked_nothing(tmp_path: Path) -> None:
    silent = spawned(tmp_path, "/bin/true")
    silent.expect(pexpect.EOF)
    assert silent.before.split() == ["on"]


@pytest.mark.parametrize(
    ("variables", "code"),
    [({"OPENAI_API_KEY": "sk-1"}, 0), ({"SMITH_PROVIDER": "anthropic"}, 0), ({}, 0 if is_installed() else 1)],
    ids=["a key", "a provider that is named", "nothing"],
)
def test_whether_there_is_a_model_is_asked_of_smith_itself(
    variables: dict[str, str], code: int, tmp_path: Path
) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(REPO), "OLLAMA_HOST": "127.0.0.1:1"}
    command = [sys.executable, "-P", str(REPO / "tools" / "ways.py")]
    done = subprocess.run(command, env={**environ, **variables}, cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (code, b"")


def test_an_installation_that_fails_tells_its_end_and_keeps_the_rest_in_a_log(tmp_path: Path) -> None:
    code = f"""
import sys; sys.path.insert(0, {str(REPO / "tools")!r})
from pathlib import Path
import environment
environment.LOG = Path({str(tmp_path / "setup.log")!r})
environment.programs.REPO = environment.REPO = Path({str(tmp_path)!r})
try:
    environment._run(["seq", "40"], "all is well")
    with environment._clock():
        environment._run(["sh", "-c", "seq 40; echo no network >&2; exit 1"], "it could not be installed")
except environment.SetupFailed as problem:
    print(problem)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    shown = done.stdout.decode().replace("\r\x1b[K", "").split("\n")[:-1]
    assert (shown[0], shown[-2], done.stderr) == ("it could not be installed:", "no network", b"")
    assert shown[-1] == f"Everything that was said is in {tmp_path / 'setup.log'}."
    assert len(shown) == 17
    assert (tmp_path / "setup.log").read_text().startswith("1\n2\n")
