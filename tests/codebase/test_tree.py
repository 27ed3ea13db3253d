import os

import pytest

from smith_server.codebase.area import area_at
from smith_server.codebase.explorer import Explorer


async def named(explorer, folder, query, most=10):
    found = await explorer.names(area_at("", folder), query, most)
    return list(found.paths)


TREE = {
    ".gitignore": "*.log\n/out/\n",
    "src/config.py": "",
    "src/config_test.py": "",
    "src/deep/reconfig.py": "",
    "docs/Config.md": "",
    "tests/config.py": "",
    "out/config.py": "",
    "a.log": "",
    ".hidden/config.py": "",
    "node_modules/config.js": "",
}


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        (
            "config",
            [
                "src/config.py",
                "docs/Config.md",
                "tests/config.py",
                "node_modules/config.js",
                "src/config_test.py",
                "src/deep/reconfig.py",
            ],
        ),
        ("*.py", ["src/config.py", "src/deep/reconfig.py", "src/config_test.py", "tests/config.py"]),
        ("src/*.py", ["src/config.py", "src/config_test.py"]),
        ("**/*config.p[y]", ["src/config.py", "src/deep/reconfig.py", "tests/config.py"]),
        ("deep/re", ["src/deep/reconfig.py"]),
        ("config deep", ["src/deep/reconfig.py"]),
        ("srccfg", ["src/config.py", "src/deep/reconfig.py", "src/config_test.py"]),
        ("./src/config.py", ["src/config.py"]),
        ("CONFIG.MD", ["docs/Config.md"]),
        ("nothing", []),
        ("*.nothing", []),
    ],
)
async def test_files_are_found_by_glob_part_or_letters(explorer, project, query, paths):
    assert await named(explorer, project(TREE), query) == paths


async def test_what_is_left_out_is_counted(explorer, project):
    folder = project({f"m{number:03}.py": "" for number in range(300)})
    for query in ("*.py", "m", "", "m[0-9]*"):
        found = await explorer.names(area_at("", folder), query, 7)
        assert (len(found.paths), found.total, found.counted) == (7, 300, True)


async def test_brackets_that_are_part_of_a_name_are_found(explorer, project):
    assert await named(explorer, project({"app/[id].tsx": "", "app/x.tsx": ""}), "[id].tsx") == ["app/[id].tsx"]


async def test_the_list_is_made_once_and_own_files_are_added(ripgrep, editor, project):
    folder = project({"a.py": "", "b.py": ""})
    created = []
    explorer = Explorer(ripgrep, editor, None, lambda: created)
    assert await named(explorer, folder, "*.py") == ["a.py", "b.py"]
    project({"c.py": "", "d.py": ""})
    created.append(folder / "c.py")
    assert await named(explorer, folder, "*.py") == ["a.py", "b.py", "c.py"]
    (folder / "a.py").unlink()
    assert await named(explorer, folder, "*.py") == ["b.py", "c.py"]
    assert await named(explorer, folder, "d.py") == ["d.py"]


async def test_odd_names_come_back_as_they_are(explorer, project):
    folder = project({"a\nb.py": "", "c d.py": "", "x" * 250 + ".py": ""})
    (folder / os.fsdecode(b"\xff.py")).write_text("")
    assert set(await named(explorer, folder, "*.py")) == {"a\nb.py", "c d.py", "x" * 250 + ".py", "\udcff.py"}
    assert await named(explorer, folder, "?b.py") == []
    assert await named(explorer, folder, "a?b.py") == ["a\nb.py"]
