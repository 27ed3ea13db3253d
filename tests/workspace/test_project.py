import os
import subprocess
from pathlib import Path

import pytest

from smith_server.workspace.project import MOST_BYTES, Project, find_project

HTTPS = "https://ann:s3cr3t@github.com/acme/widgets.git"
WIDGETS = {
    "origin": "https://github.com/acme/widgets.git",
    "canonical": "github.com/acme/widgets",
    "id": "f60ecdb16e5e8e82",
}


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


@pytest.fixture
def checkout(place: Path) -> Path:
    folder = place / "app"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", HTTPS)
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def configured(root: Path, text: str) -> Path:
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "config").write_text(text)
    return root


def test_outside_a_checkout_there_is_no_project(place: Path) -> None:
    assert find_project(place) is None


def test_a_folder_below_the_root_belongs_to_the_project(checkout: Path) -> None:
    deep = checkout / "src" / "deep"
    deep.mkdir(parents=True)

    assert find_project(deep) == find_project(checkout) == Project(checkout, **WIDGETS)


def test_two_clones_over_different_transports_are_one_project(place: Path) -> None:
    over_ssh = configured(place / "a", '[remote "origin"]\n\turl = git@github.com:acme/widgets.git\n')
    over_https = configured(place / "b", f'[remote "origin"]\n\turl = {HTTPS}\n')

    found = [find_project(over_ssh), find_project(over_https)]

    assert [each and each.id for each in found] == [WIDGETS["id"]] * 2


def test_without_an_origin_there_is_a_root_and_no_identity(place: Path) -> None:
    other = configured(place / "a", '[remote "upstream"]\n\turl = https://github.com/acme/widgets\n')

    assert find_project(other) == Project(other)


def test_a_checkout_without_configuration_still_has_a_root(place: Path) -> None:
    (place / "app" / ".git").mkdir(parents=True)

    assert find_project(place / "app") == Project(place / "app")


def test_the_first_address_counts_and_rewriting_does_not(place: Path) -> None:
    rewriting = '[url "https://mirror.example.org/"]\n\tinsteadOf = https://\n'
    text = f'{rewriting}[remote "origin"]\n\turl = {HTTPS}\n\turl = /tmp\n'

    assert find_project(configured(place / "a", text)) == Project(place / "a", **WIDGETS)


def test_a_linked_work_tree_has_its_own_root_and_the_origin_of_its_repository(checkout: Path, place: Path) -> None:
    git(checkout, "worktree", "add", "-q", str(place / "linked"), "-b", "other")

    assert (place / "linked" / ".git").is_file()
    assert find_project(place / "linked") == Project(place / "linked", **WIDGETS)


def test_a_submodule_is_a_project_of_its_own(checkout: Path, place: Path) -> None:
    git(place, "init", "-q", "part")
    git(place / "part", "commit", "-q", "--allow-empty", "-m", "first")
    git(checkout, "submodule", "--quiet", "add", str(place / "part"), "lib")

    found = find_project(checkout / "lib")

    assert (checkout / "lib" / ".git").is_file()
    assert found == Project(checkout / "lib", str(place / "part"), f"file:{place / 'part'}", found.id if found else "")
    assert found.id not in ("", WIDGETS["id"])


def test_a_repository_kept_elsewhere_is_found(place: Path) -> None:
    git(place, "init", "-q", "--separate-git-dir", str(place / "kept"), "app")
    git(place / "app", "remote", "add", "origin", HTTPS)

    assert find_project(place / "app") == Project(place / "app", **WIDGETS)


def test_a_relative_origin_counts_from_the_root(place: Path) -> None:
    root = configured(place / "app", '[remote "origin"]\n\turl = ../widgets.git\n')
    (root / "src").mkdir()

    found = find_project(root / "src")

    assert found is not None
    assert (found.origin, found.canonical) == ("../widgets.git", f"file:{place}/widgets")


def test_moving_to_another_folder_moves_the_project(checkout: Path, place: Path) -> None:
    other = configured(place / "other", "")

    assert [find_project(folder) for folder in (checkout, other, place)] == [
        Project(checkout, **WIDGETS),
        Project(other),
        None,
    ]


def test_nothing_that_a_checkout_configures_is_run(
    checkout: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = place / "ran"
    for name in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.gitProxy", "credential.helper"):
        git(checkout, "config", name, f"touch {ran}; true")
    git(checkout, "config", "include.path", "/dev/stdin")
    shim = place / "bin" / "git"
    shim.parent.mkdir()
    shim.write_text(f"#!/bin/sh\ntouch {ran}\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")

    assert find_project(checkout) == Project(checkout, **WIDGETS)
    assert not ran.exists()


def test_a_missing_git_changes_nothing(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert find_project(checkout) == Project(checkout, **WIDGETS)


def test_variables_that_point_git_elsewhere_change_nothing(
    checkout: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(place))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "remote.origin.url")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://example.org/other")

    assert find_project(checkout) == Project(checkout, **WIDGETS)


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "dangling", "huge", "binary"])
def test_a_configuration_that_is_no_file_of_that_kind_is_none(place: Path, kind: str) -> None:
    root = configured(place / "app", "")
    config = root / ".git" / "config"
    config.unlink()
    match kind:
        case "pipe":
            os.mkfifo(config)
        case "folder":
            config.mkdir()
        case "loop":
            config.symlink_to(config)
        case "dangling":
            config.symlink_to(root / "nowhere")
        case "huge":
            config.write_text("#" * (MOST_BYTES + 1))
        case _:
            config.write_bytes(bytes(range(256)))

    assert find_project(root) == Project(root)


@pytest.mark.parametrize(
    "text",
    [b"", b"gitdir:", b"gitdir: /nowhere", b"gitdir: a\x00b", b"gitdir: \xff\xfe", b"something else"],
    ids=["empty", "no folder", "missing folder", "NUL", "no text", "no mark"],
)
def test_a_git_file_that_leads_nowhere_leaves_the_root(place: Path, text: bytes) -> None:
    (place / "app").mkdir()
    (place / "app" / ".git").write_bytes(text)

    assert find_project(place / "app") == Project(place / "app")
