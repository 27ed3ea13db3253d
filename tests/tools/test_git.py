import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from smith_server.core.tool import Effect, spec
from smith_server.proc.looking import Lookout
from smith_server.tools.git import Git
from smith_server.workspace.git import Git as Reader
from tests.tools.calls import call, preview

PROGRAMS = (
    *(f"core.{name}" for name in ("fsmonitor", "pager", "sshCommand", "editor", "askPass", "alternateRefsCommand")),
    *(f"pager.{name}" for name in ("log", "status", "diff")),
    *("diff.external", "diff.x.command", "diff.x.textconv", "interactive.diffFilter", "merge.x.driver"),
    *("filter.x.clean", "filter.x.process", "filter.x.smudge", "filter.a=b.clean"),
    *("gpg.program", "gpg.ssh.program", "credential.helper", "uploadpack.packObjectsHook"),
)
IDENTITY = ("-c", "user.name=Dev", "-c", "user.email=dev@example.org", "-c", "commit.gpgSign=false")


def git(folder: Path, *words: str) -> str:
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-c", "protocol.file.allow=always", *IDENTITY, *words]
    return subprocess.run(command, cwd=folder, env=variables, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.py").write_text("one\ntwo\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def tool():
    return Git(Reader(Lookout()))


async def test_the_five_subcommands_tell_what_they_find(tool, repo):
    (repo / "a.py").write_text("one\nthree\n")
    status = await call(tool, repo, args=["status", "-sb"])
    assert (status.content, status.summary, status.ok, status.mutation) == (
        "## main\n M a.py",
        "git status: 2 lines",
        True,
        "none",
    )
    assert (await call(tool, repo, args=["log", "--format=%s"])).content == "first"
    assert (await call(tool, repo, args=["diff", "--stat", "--", "a.py"])).content.startswith(" a.py | 2 +-\n")
    assert (await call(tool, repo, args=["show", "HEAD:a.py"])).content == "one\ntwo"
    assert "two" in (await call(tool, repo, args=["blame", "-L", "2,2", "HEAD", "--", "a.py"])).content
    assert (await call(tool, repo, args=["diff", "--exit-code"])).content.endswith("\n[exit code 1]")
    assert (await call(tool, repo, args=["diff", "--cached"])).content == "[no output]"


async def test_what_git_cannot_do_is_said_in_its_words(tool, repo, tmp_path):
    failed = await call(tool, repo, args=["log", "$(touch x)"])
    assert (failed.ok, failed.code) == (False, "git_failed")
    assert "$(touch x)" in failed.content
    assert not (repo / "x").exists()
    outside = await call(tool, tmp_path, args=["status"])
    assert (outside.ok, outside.code) == (False, "no_repository")
    refused = await call(tool, repo, args=["commit", "-m", "x"])
    assert (refused.ok, refused.code) == (False, "git_refused")


async def test_a_long_answer_keeps_both_ends_and_counts_the_rest(tool, repo):
    (repo / "long").write_text("".join(f"line {number}\n" for number in range(200_000)))
    git(repo, "add", ".")
    content = (await call(tool, repo, args=["show", ":long"])).content
    assert len(content.encode()) < 33_000
    assert content.startswith("line 0\n")
    assert content.endswith("line 199999")
    kept = content.count("line ") - 0
    assert f"({200_000 - kept} lines) left out here]" in content


async def test_controls_of_a_file_are_shown_and_not_obeyed(tool, repo):
    (repo / "odd").write_bytes(b"a\x1b[31mb\rc\r\n\xff\n")
    git(repo, "add", ".")
    assert (await call(tool, repo, args=["show", ":odd"])).content == "a\\x1b[31mb\\x0dc\n\ufffd"


async def test_a_git_that_hangs_is_ended_and_one_in_the_project_is_not_run(repo, tmp_path, monkeypatch):
    outside = tmp_path / "bin"
    for folder, script in ((outside, "sleep 60"), (repo, "touch ran")):
        folder.mkdir(exist_ok=True)
        (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "git").chmod(0o755)
    system = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{repo}:.:{outside}:{system}")
    slow = Git(Reader(Lookout(), seconds=0.3))
    assert (await call(slow, repo, args=["status"])).code == "git_refused"
    monkeypatch.setenv("PATH", f"{repo}:.")
    assert (await call(slow, repo, args=["status"])).code == "program_missing"
    assert not (repo / "ran").exists()


async def test_the_person_sees_the_words_and_the_model_a_short_text(tool, repo):
    assert (await preview(tool, repo, args=["log", "a\nb"])).title == "git log a⏎b"
    assert len(msgspec.json.encode(spec(tool))) <= 600
    assert tool.effect is Effect.READ


class TestHostileConfiguration:
    @pytest.fixture
    def marker(self, tmp_path):
        script = tmp_path / "marker.sh"
        script.write_text(f'#!/bin/sh\ntouch "{tmp_path}/ran"\ncat\n')
        script.chmod(0o755)
        return script

    @pytest.fixture
    def hostile(self, repo, marker):
        """A repository in which everything that can name a program names one that leaves a mark."""
        (repo / ".gitattributes").write_text("*.py diff=x filter=x merge=x\n*.c filter=a=b\n")
        (repo / "b.c").write_text("int b;\n")
        git(repo, "add", ".")
        git(repo, "commit", "-qm", "second")
        (repo / ".extra").write_text(f'[filter "included"]\n\tclean = {marker}\n\trequired = true\n')
        hooks = repo / ".git" / "evil-hooks"
        hooks.mkdir()
        for name in ("post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
            (hooks / name).write_text(f"#!/bin/sh\nexec {marker}\n")
            (hooks / name).chmod(0o755)
        for key in PROGRAMS:
            git(repo, "config", key, str(marker))
        for key, value in {
            "core.hooksPath": str(hooks),
            "include.path": "../.extra",
            "filter.x.required": "true",
            "log.showSignature": "true",
            "format.pretty": "mine",
            "pretty.mine": "%G? %h",
            "alias.status": f"!{marker}",
            "status.submoduleSummary": "true",
            "diff.submodule": "diff",
            "log.diffMerges": "remerge",
            "diff.ignoreSubmodules": "none",
            "diff.orderFile": "/etc/passwd",
            "color.ui": "always",
        }.items():
            git(repo, "config", key, value)
        os.utime(repo / "a.py", (1, 1))
        (repo / "b.c").write_text("int c;\n")
        return repo

    @pytest.mark.parametrize(
        "words",
        [
            ["status"],
            ["status", "--ignore-submodules=none", "--porcelain=v2"],
            ["diff"],
            ["diff", "--ignore-submodules=none"],
            ["diff", "HEAD~1"],
            ["diff", "--cached"],
            ["log", "-p"],
            ["log", "-m", "--stat"],
            ["show", "HEAD"],
            ["blame", "a.py"],
        ],
        ids=" ".join,
    )
    async def test_no_program_that_the_repository_names_is_run(self, tool, hostile, tmp_path, words):
        result = await call(tool, hostile, args=words)
        assert result.ok, result.content
        assert "\\x1b" not in result.content
        assert "root:" not in result.content
        assert not (tmp_path / "ran").exists()

    async def test_plain_git_would_have_run_them(self, hostile, tmp_path):
        variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        subprocess.run(["git", "diff"], cwd=hostile, env=variables, capture_output=True, check=False, timeout=20)
        assert (tmp_path / "ran").exists()

    async def test_a_submodule_is_not_looked_into(self, tool, repo, marker, tmp_path):
        inner = tmp_path / "inner"
        subprocess.run(["cp", "-r", str(repo), str(inner)], check=True)
        git(repo, "submodule", "--quiet", "add", str(inner), "sub")
        git(repo, "commit", "-qm", "sub")
        git(repo / "sub", "config", "core.fsmonitor", str(marker))
        git(repo / "sub", "config", "filter.x.clean", str(marker))
        (repo / "sub" / "a.py").write_text("changed\n")
        for words in (["status", "--ignore-submodules=none"], ["diff", "--ignore-submodules=none"]):
            assert (await call(tool, repo, args=words)).ok
        assert not (tmp_path / "ran").exists()

    async def test_objects_that_are_missing_are_not_fetched(self, tool, repo, tmp_path, marker):
        git(repo, "config", "uploadpack.allowFilter", "true")
        partial = tmp_path / "partial"
        git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repo}", str(partial))
        git(partial, "config", "remote.origin.uploadpack", str(marker))
        result = await call(tool, partial, args=["show", "HEAD:a.py"])
        assert (result.ok, result.code) == (False, "git_failed")
        assert not (tmp_path / "ran").exists()

    async def test_a_work_tree_elsewhere_is_not_looked_at(self, tool, repo, tmp_path):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "a.py").write_text("secret\n")
        git(repo, "config", "core.worktree", str(elsewhere))
        assert "secret" not in (await call(tool, repo, args=["diff"])).content

    @pytest.mark.parametrize("value", ["/etc/passwd", "link"])
    async def test_no_file_outside_is_quoted_by_blame(self, tool, repo, value):
        (repo / "link").symlink_to("/etc/passwd")
        git(repo, "config", "blame.ignoreRevsFile", value)
        result = await call(tool, repo, args=["blame", "a.py"])
        assert (result.code, "root:" in result.content) == ("git_refused", False)
        (repo / ".revs").write_text("")
        git(repo, "config", "blame.ignoreRevsFile", ".revs")
        assert (await call(tool, repo, args=["blame", "a.py"])).ok

    async def test_variables_of_git_are_not_passed_on(self, tool, repo, tmp_path, marker, monkeypatch):
        for name, value in {
            "GIT_EXTERNAL_DIFF": str(marker),
            "GIT_DIR": str(tmp_path / "nowhere"),
            "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={marker}'",
        }.items():
            monkeypatch.setenv(name, value)
        (repo / "a.py").write_text("one\nthree\n")
        assert "+three" in (await call(tool, repo, args=["diff"])).content
        assert not (tmp_path / "ran").exists()
