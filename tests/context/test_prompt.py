"""The blocks of the system prompt: which there are, in which order, and what is never in them."""

import os
from pathlib import Path

import pytest

from smith_server.context.prompt import MOST_INDEX, About, role_text, system_prompt
from smith_server.core.errors import AgentFailure
from smith_server.core.ports import Entry
from smith_server.workspace.project import Project, find_project


def checkout(folder: Path, origin: str = "https://ann:s3cret@github.com/acme/widgets.git") -> Project:
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {origin}\n')
    project = find_project(folder)
    assert project is not None
    return project


def headings(prompt: str) -> list[str]:
    return [line for line in prompt.splitlines() if line.startswith("## ")]


def test_role_then_project_then_its_index_then_its_memories(tmp_path: Path) -> None:
    project = checkout(tmp_path)
    (tmp_path / "INDEX.md").write_text("\nRead docs first.\n")
    about = About(tmp_path / "src", project, "INDEX.md", [Entry("b", "second"), Entry("a:1", "first")])
    prompt = system_prompt("direct", about)
    assert prompt.startswith(role_text("direct") + "\n\n## Project information\n")
    assert headings(prompt) == ["## Project information", "## Project context", "## Project memory index"]
    rest = prompt.removeprefix(role_text("direct") + "\n\n").split("\n\n")
    assert rest[0].splitlines()[1:6] == [
        f"- CWD: {tmp_path / 'src'}",
        f"- Repository root: {tmp_path}",
        "- Git origin: https://github.com/acme/widgets.git",
        "- Normalized origin: github.com/acme/widgets",
        "- Project ID: f60ecdb16e5e8e82",
    ]
    assert rest[1:] == [
        "## Project context\nRead docs first.",
        "## Project memory index\nProject: f60ecdb16e5e8e82\n- a:1: first\n- b: second",
    ]


def test_no_password_of_an_origin_reaches_a_model(tmp_path: Path) -> None:
    prompt = system_prompt("direct", About(tmp_path, checkout(tmp_path), "INDEX.md"))
    assert "s3cret" not in prompt and "ann" not in prompt.partition("## Project information")[2]


def test_equal_inputs_give_equal_prompts(tmp_path: Path) -> None:
    project = checkout(tmp_path)
    about = About(tmp_path, project, "INDEX.md", [Entry("b", "second"), Entry("a", "first")])
    turned = About(tmp_path, project, "INDEX.md", [Entry("a", "first"), Entry("b", "second")])
    assert system_prompt("worker", about) == system_prompt("worker", about) == system_prompt("worker", turned)


def test_outside_a_checkout_only_the_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "INDEX.md").write_text("not for this")
    prompt = system_prompt("direct", About(tmp_path, None, "INDEX.md", [Entry("a", "first")]))
    assert headings(prompt) == ["## Project information"]
    assert f"- CWD: {tmp_path}" in prompt
    for absent in ("Repository root", "Git origin", "Project ID", "not for this"):
        assert absent not in prompt


def test_what_is_not_known_has_no_line(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    project = find_project(tmp_path)
    prompt = system_prompt("direct", About(tmp_path, project))
    assert f"- Repository root: {tmp_path}" in prompt
    for absent in ("Git origin", "Normalized origin", "Project ID"):
        assert absent not in prompt
    assert "\n\n\n" not in prompt.partition("## Project information")[2]


@pytest.mark.parametrize("text", ["", " \n\t\n"], ids=["empty", "blank"])
def test_an_index_that_says_nothing_has_no_block(tmp_path: Path, text: str) -> None:
    project = checkout(tmp_path)
    (tmp_path / "INDEX.md").write_text(text)
    assert headings(system_prompt("direct", About(tmp_path, project, "INDEX.md"))) == ["## Project information"]


def test_the_index_is_looked_for_in_the_root_alone(tmp_path: Path) -> None:
    project = checkout(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "INDEX.md").write_text("of the folder")
    assert "of the folder" not in system_prompt("direct", About(tmp_path / "src", project, "INDEX.md"))
    (tmp_path / "INDEX.md").write_text("of the root")
    assert "of the root" in system_prompt("direct", About(tmp_path / "src", project, "INDEX.md"))


def test_no_index_leads_out_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a secret")
    root = tmp_path / "project"
    root.mkdir()
    project = checkout(root)
    (root / "INDEX.md").symlink_to(tmp_path / "secret")
    for name in ("INDEX.md", "../secret", str(tmp_path / "secret")):
        assert "a secret" not in system_prompt("direct", About(root, project, name))


def test_an_index_that_is_no_file_is_none(tmp_path: Path) -> None:
    project = checkout(tmp_path)
    os.mkfifo(tmp_path / "INDEX.md")
    assert "Project context" not in system_prompt("direct", About(tmp_path, project, "INDEX.md"))


def test_a_large_index_is_cut_and_says_so(tmp_path: Path) -> None:
    project = checkout(tmp_path)
    (tmp_path / "INDEX.md").write_text("x" * (MOST_INDEX + 10))
    prompt = system_prompt("direct", About(tmp_path, project, "INDEX.md"))
    assert prompt.endswith(f"{'x' * 100}\n[cut: the file has {MOST_INDEX + 10} bytes]")
    assert prompt.count("x" * MOST_INDEX) == 1 and "x" * (MOST_INDEX + 1) not in prompt


def test_memories_are_told_by_name_and_label_and_not_in_full(tmp_path: Path) -> None:
    about = About(tmp_path, checkout(tmp_path), "", [Entry("build", "how to build")])
    assert system_prompt("explorer", about).endswith(
        "## Project memory index\nProject: f60ecdb16e5e8e82\n- build: how to build"
    )


@pytest.mark.parametrize("profile", ["nobody", "../prompts/direct", ""])
def test_an_unknown_profile_is_a_policy_error(profile: str) -> None:
    with pytest.raises(AgentFailure) as raised:
        system_prompt(profile, About(Path("/")))
    assert (raised.value.error.kind, raised.value.error.code) == ("policy", "unknown_profile")


def test_tools_are_not_described_in_the_prompt(tmp_path: Path) -> None:
    prompt = system_prompt("direct", About(tmp_path))
    assert "parameters" not in prompt and '"type"' not in prompt
