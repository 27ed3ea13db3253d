import os

import msgspec
import pytest

from smith_server.codebase.explorer import Explorer
from smith_server.codebase.index import Index
from smith_server.codebase.ripgrep import Ripgrep
from smith_server.core.tool import Effect, spec
from smith_server.policy.denied import denied_paths
from smith_server.proc.looking import Lookout
from smith_server.tools.code_files import CodeFiles
from smith_server.tools.code_grep import CodeGrep
from smith_server.tools.code_map import CodeMap
from smith_server.tools.code_outline import CodeOutline
from smith_server.tools.code_symbols import CodeSymbols
from smith_server.tools.exploring import Exploring
from tests.fakes.editor import FakeEditor
from tests.tools.calls import call, preview


class Ready(Exploring):
    """One whose explorer is there already."""

    def __init__(self, explorer):
        self._explorer = explorer


TOOLS = (CodeMap, CodeGrep, CodeFiles, CodeSymbols, CodeOutline)


@pytest.fixture
def editor():
    return FakeEditor()


@pytest.fixture
def explorer(editor):
    return Ready(Explorer(Ripgrep(Lookout()), editor))


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "app"
    folder.mkdir()
    return folder


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py").replace("_md", ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


async def every(explorer, folder, word, path=""):
    """What each tool says when it is asked for `word`."""
    asked = [
        (CodeMap(explorer), {"path": path}),
        (CodeGrep(explorer), {"pattern": word, "path": path}),
        (CodeFiles(explorer), {"query": word, "path": path}),
        (CodeSymbols(explorer), {"query": word, "path": path}),
    ]
    return [await call(tool, folder, **arguments) for tool, arguments in asked]


@pytest.mark.parametrize("make", TOOLS)
def test_a_tool_only_reads_and_is_told_to_the_model_in_few_words(make, explorer):
    tool = make(explorer)
    assert tool.effect is Effect.READ
    assert len(msgspec.json.encode(spec(tool))) <= (720 if make is CodeGrep else 600)


async def test_the_person_sees_what_is_asked_and_where(explorer, folder):
    assert (await preview(CodeGrep(explorer), folder, pattern="a\nb", path="src")).title == "a⏎b in src"
    assert (await preview(CodeFiles(explorer), folder, query="*.py")).title == "*.py in ."
    assert (await preview(CodeOutline(explorer), folder, path="a.py")).title == "a.py"


class TestGrep:
    async def test_definitions_come_first_and_equal_lines_of_a_file_once(self, explorer, folder):
        write(
            folder, a_py="go()\nx = 1\ngo()\n", b__c_py="def go():\n    pass\n", tests__a_py="go()\n", notes_md="go\n"
        )
        result = await call(CodeGrep(explorer), folder, pattern="go")
        assert result.content == (
            "5 lines in 4 files\n"
            "b/c.py:\n  1: def go():\n"
            "a.py:\n  1,3: go()\n"
            "notes.md:\n  1: go\n"
            "tests/a.py:\n  1: go()"
        )
        assert (result.ok, result.summary, result.mutation) == (True, "5 lines in 4 files", "none")

    async def test_no_match_is_said_in_a_sentence(self, explorer, folder):
        write(folder, a_py="x\n")
        result = await call(CodeGrep(explorer), folder, pattern="nothing")
        assert (result.ok, result.summary) == (True, "no match")
        assert result.content.startswith("No line matches. Ignored and hidden files were not searched")

    async def test_copies_of_a_file_are_named_and_not_repeated(self, explorer, folder):
        write(folder, a__x_py="go(1)\n", b__x_py="go(1)\n", c__x_py="go(2)\n")
        content = (await call(CodeGrep(explorer), folder, pattern="go")).content
        assert content == "3 lines in 3 files\na/x.py:\n  1: go(1)\n  [the same in b/x.py]\nc/x.py:\n  1: go(2)"

    async def test_what_is_left_out_is_counted_with_how_to_get_it(self, explorer, folder):
        for number in range(30):
            write(folder, **{f"m{number:02}_py": "".join(f"go({line})\n" for line in range(10))})
        result = await call(CodeGrep(explorer), folder, pattern="go", max=9)
        assert (
            result.content
            == (
                "300 lines in 30 files\n"
                "m00.py:\n  1: go(0)\n  2: go(1)\n  3: go(2)\n  [7 more here]\n"
                "m01.py:\n  1: go(0)\n  2: go(1)\n  3: go(2)\n  [7 more here]\n"
                "m02.py:\n  1: go(0)\n  2: go(1)\n  3: go(2)\n  [7 more here]\n"
                "[270 more lines in 27 more files left out: narrow path, glob or pattern, or raise max (up to 500)]"
            )
            or "the same in" in result.content
        )

    async def test_a_long_line_is_shown_around_the_match(self, explorer, folder):
        (folder / "min.js").write_text("a" * 3000 + "needle" + "b" * 400_000 + "\n")
        content = (await call(CodeGrep(explorer), folder, pattern="needle")).content
        assert len(content) < 500
        assert "needle" in content
        assert "[2920 characters …]" in content

    @pytest.mark.parametrize("size", [60, 500])
    async def test_no_result_is_larger_than_its_budget(self, explorer, folder, size):
        for number in range(400):
            write(folder, **{f"d{number:03}__m_py": f"go({number}, '" + "é" * 300 + "')\n" * 1})
        content = (await call(CodeGrep(explorer), folder, pattern="go", max=size)).content
        assert len(content.encode()) < 17_500
        assert "400 lines in 400 files" in content
        assert "left out" in content

    async def test_lines_around_a_match_keep_their_indent(self, explorer, folder):
        write(folder, a_py="def a():\n    one\n    two\n    three\nlast\n\n\n\ndef two(): pass\n")
        content = (await call(CodeGrep(explorer), folder, pattern="    two", context=1)).content
        assert content == "1 line in 1 file\na.py:\n  2-     one\n  3:     two\n  4-     three"

    async def test_a_bad_expression_is_searched_as_it_stands(self, explorer, folder):
        write(folder, a_py="foo(bar\nfoo bar\n")
        content = (await call(CodeGrep(explorer), folder, pattern="foo(")).content
        assert content == (
            "1 line in 1 file\na.py:\n  1: foo(bar\n"
            "[the pattern is no valid regular expression and was searched as plain text]"
        )

    @pytest.mark.parametrize(
        ("pattern", "line"),
        [("foo(?=bar)", "foobar"), (r"(\w)\1", "aa"), ("(?i)FOO", "foobar"), (r"é+\b", "éé"), (r"a\nb", "a")],
        ids=["look-ahead", "back-reference", "flag", "unicode", "lines"],
    )
    async def test_richer_expressions_work(self, explorer, folder, pattern, line):
        write(folder, a_py="foobar\nxyz\naa\néé\na\nb\n")
        assert f": {line}" in (await call(CodeGrep(explorer), folder, pattern=pattern)).content

    @pytest.mark.parametrize(
        ("glob", "names"),
        [
            ("*.py", {"a.py", "src/a.py"}),
            ("src/**", {"src/a.py", "src/b.md"}),
            ("!*.md", {"a.py", "src/a.py"}),
            ("*.{md,txt}", {"src/b.md"}),
            ("!src/**", {"a.py"}),
        ],
    )
    async def test_a_glob_narrows_and_brings_no_hidden_or_ignored_file_back(self, explorer, folder, glob, names):
        write(folder, a_py="x", src__a_py="x 2", src__b_md="x", ignored_py="x")
        (folder / ".gitignore").write_text("ignored.py\n")
        (folder / ".hidden.py").write_text("x")
        content = (await call(CodeGrep(explorer), folder, pattern="x", glob=glob)).content
        assert {line[:-1] for line in content.splitlines() if line.endswith(":")} == names

    async def test_hidden_and_ignored_files_are_searched_when_they_are_named(self, explorer, folder):
        write(folder, lib__bin__a_py="x")
        (folder / ".gitignore").write_text("lib/\n")
        (folder / ".ci").mkdir()
        (folder / ".ci" / "run").write_text("x\n")
        tool = CodeGrep(explorer)
        assert (await call(tool, folder, pattern="x")).summary == "no match"
        assert (await call(tool, folder, pattern="x", path="lib/bin")).content.endswith("lib/bin/a.py:\n  1: x")
        assert (await call(tool, folder, pattern="x", path=".ci")).content.endswith(".ci/run:\n  1: x")
        assert (await call(tool, folder, pattern="x", path=".ci/run")).content.endswith(".ci/run:\n  1: x")

    async def test_open_text_is_searched_as_it_stands_in_the_editor(self, explorer, editor, folder):
        write(folder, a_py="old\nboth\n", b_py="both\n")
        editor.type(folder / "a.py", "typed\n\n\nboth\r\n")
        editor.type(folder / "new.py", "both\n")
        editor.type(folder / ".secret.py", "both\n")
        tool = CodeGrep(explorer)
        assert (await call(tool, folder, pattern="old")).summary == "no match"
        both = (await call(tool, folder, pattern="both", context=0)).content
        assert both == "3 lines in 3 files\na.py:\n  4: both\nb.py:\n  1: both\nnew.py:\n  1: both"
        typed = (await call(tool, folder, pattern="typed", context=1, glob="*.py")).content
        assert typed == "1 line in 1 file\na.py:\n  1: typed\n  2- "
        assert (await call(tool, folder, pattern="typed", glob="*.md")).summary == "no match"
        assert (await call(tool, folder, pattern="typed(", path="a.py")).summary == "no match"

    async def test_controls_in_files_are_shown_and_binary_files_are_not(self, explorer, folder):
        (folder / "a.txt").write_bytes(b"x \x1b[31m red\rx\n")
        (folder / "b.bin").write_bytes(b"x\0x\n")
        content = (await call(CodeGrep(explorer), folder, pattern="x")).content
        assert content == "1 line in 1 file\na.txt:\n  1: x \\x1b[31m red\\x0dx"


class TestHostileInput:
    @pytest.mark.parametrize("pattern", ["--pre=./marker", "-f/etc/passwd", "--files", "-e", "--", "-"])
    async def test_a_pattern_is_never_an_option(self, explorer, folder, pattern):
        write(folder, a_py=f"x {pattern} y\n")
        assert (await call(CodeGrep(explorer), folder, pattern=pattern)).content.endswith(f"a.py:\n  1: x {pattern} y")

    @pytest.mark.parametrize("name", ["-e", "--files", "-", "--pre=x"])
    async def test_a_path_is_never_an_option(self, explorer, folder, name):
        (folder / name).mkdir()
        (folder / name / "a.py").write_text("x\n")
        (folder / f"{name}.py").write_text("def go(): pass\nx\n")
        assert (await call(CodeGrep(explorer), folder, pattern="x", path=name)).content.endswith("a.py:\n  1: x")
        assert (await call(CodeGrep(explorer), folder, pattern="x", path=f"{name}.py")).ok
        assert (await call(CodeFiles(explorer), folder, query=f"{name}.py")).content == f"{name}.py"
        assert (await call(CodeSymbols(explorer), folder, query="go", path=f"{name}.py")).summary == "1 definition"

    @pytest.mark.parametrize("glob", ["--pre=x", "-g", "a:b", "smith:*", "[", "{a", "\\"])
    async def test_a_glob_is_never_an_option(self, explorer, folder, glob):
        write(folder, a_py="x\n")
        assert (await call(CodeGrep(explorer), folder, pattern="x", glob=glob)).summary == "no match"

    async def test_configuration_of_the_search_program_is_not_read(self, explorer, folder, tmp_path, monkeypatch):
        marker = tmp_path / "marker.sh"
        marker.write_text(f'#!/bin/sh\ntouch "{tmp_path}/ran"\ncat\n')
        marker.chmod(0o755)
        (tmp_path / "rc").write_text(f"--pre={marker}\n--hidden\n")
        monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
        write(folder, a_py="x\n")
        (folder / ".h").write_text("x\n")
        assert (await call(CodeGrep(explorer), folder, pattern="x")).summary == "1 line in 1 file"
        assert not (tmp_path / "ran").exists()

    async def test_a_program_in_the_project_is_not_run(self, editor, folder, monkeypatch):
        (folder / "rg").write_text("#!/bin/sh\ntouch ran\n")
        (folder / "rg").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:.")
        write(folder, a_py="x\n")
        monkeypatch.chdir(folder)
        assert (await call(CodeGrep(Ready(Explorer(Ripgrep(Lookout()), editor))), folder, pattern="x")).ok
        assert not (folder / "ran").exists()

    @pytest.mark.parametrize(
        ("script", "code"),
        [("exit 70", "search_failed"), ("kill -SEGV $$", "search_failed"), ("sleep 60", "search_timeout")],
        ids=["fails", "crashes", "hangs"],
    )
    async def test_a_search_program_that_does_not_work_is_a_named_error(self, editor, folder, tmp_path, script, code):
        program = tmp_path / "rg"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        explorer = Ready(Explorer(Ripgrep(Lookout(), str(program), seconds=0.3), editor))
        results = [
            await call(CodeGrep(explorer), folder, pattern="x"),
            await call(CodeFiles(explorer), folder, query="x"),
        ]
        assert [result.code for result in results] == [code, code]

    async def test_a_missing_search_program_is_a_named_error(self, editor, folder, tmp_path):
        explorer = Ready(Explorer(Ripgrep(Lookout(), str(tmp_path / "none")), editor))
        assert (await call(CodeGrep(explorer), folder, pattern="x")).code == "not_started"

    @pytest.mark.parametrize(
        ("path", "code"),
        [
            ("pipe", "not_regular_file"),
            ("/dev/zero", "not_regular_file"),
            ("missing", "file_not_found"),
            ("loop", "link_loop"),
            ("broken", "file_not_found"),
            ("a\0b", "invalid_path"),
            ("x" * 300, "name_too_long"),
        ],
    )
    async def test_a_path_that_is_no_file_is_named_at_once(self, explorer, folder, path, code):
        os.mkfifo(folder / "pipe")
        (folder / "loop").symlink_to("loop")
        (folder / "broken").symlink_to("nowhere")
        results = [
            *await every(explorer, folder, "x", path),
            await call(CodeOutline(explorer), folder, path=path),
        ]
        assert {result.code for result in results} == {code}

    async def test_odd_things_in_a_tree_are_passed_over(self, explorer, folder):
        os.mkfifo(folder / "pipe.py")
        (folder / "loop.py").symlink_to("loop.py")
        (folder / "up").symlink_to(folder)
        (folder / "null.py").symlink_to("/dev/zero")
        (folder / "big.py").write_text("")
        os.truncate(folder / "big.py", 10 << 30)
        (folder / "a\nb.py").write_text("def go(): pass\n")
        (folder / ("x" * 250 + ".py")).write_text("def go(): pass\n")
        results = await every(explorer, folder, "go")
        assert [result.ok for result in results] == [True] * 4
        assert "a\\nb.py:\n  1: def go(): pass" in results[1].content
        assert results[3].summary == "2 definitions"

    async def test_an_outline_of_what_is_no_text_is_refused(self, explorer, folder):
        (folder / "a.bin").write_bytes(b"a\0b")
        (folder / "big.py").write_text("")
        os.truncate(folder / "big.py", 10 << 30)
        tool = CodeOutline(explorer)
        assert [(await call(tool, folder, path=name)).code for name in (".", "a.bin", "big.py")] == [
            "is_directory",
            "binary_file",
            "too_large",
        ]


class TestDeniedFiles:
    async def test_no_name_and_no_line_of_them_is_in_any_result(self, editor, folder, tmp_path):
        write(
            folder, a_py="def token(): pass\n", secret__token_py="def token(): pass\n", deep__secret__token_py="token"
        )
        (folder / "token.env").write_text("token=1\n")
        (folder / "link").symlink_to(folder / "secret")
        rules = ("read(**/*.env)", "read_file(secret)", "code_grep(deep/secret/**)", "bash(rm *)", "read(~/x)")
        denied = denied_paths(rules, folder, tmp_path)
        explorer = Ready(Explorer(Ripgrep(Lookout()), editor, denied, index=Index(None)))
        editor.type(folder / "secret" / "token.py", "def token(): typed\n")
        for result in await every(explorer, folder, "token"):
            assert result.ok
            assert not {"secret", "env", "typed"} & set(result.content.replace("/", " ").replace(".", " ").split())
        for path in ("secret", "link", "token.env", "secret/token.py", "deep/secret"):
            results = [
                *await every(explorer, folder, "token", path),
                await call(CodeOutline(explorer), folder, path=path),
            ]
            assert {result.code for result in results} == {"path_denied"}

    async def test_a_link_to_a_folder_does_not_lead_around_a_rule(self, editor, folder, tmp_path):
        write(folder, vault__a__key_py="def token(): pass\n")
        (folder / "way").symlink_to(folder / "vault")
        explorer = Ready(Explorer(Ripgrep(Lookout()), editor, denied_paths(("read(vault/a/**)",), folder, tmp_path)))
        results = await every(explorer, folder, "token", "way")
        assert [result.summary for result in results] == ["no files", "no match", "no file", "none"]


class TestFilesSymbolsAndMap:
    async def test_paths_are_relative_to_the_working_directory(self, explorer, folder):
        write(folder, src__a_py="def go(): pass\n")
        assert (await call(CodeFiles(explorer), folder, query="a.py", path="src")).content == "src/a.py"
        assert (
            await call(CodeFiles(explorer), folder / "src", query="a.py", path="..")
        ).content == f"{folder}/src/a.py"
        found = await call(CodeSymbols(explorer), folder, query="go", path="src")
        assert found.content == "src/a.py:1: function: def go(): pass"

    async def test_a_definition_tells_lines_kind_and_owner(self, explorer, folder):
        write(folder, a_py="class A:\n    def go(self):\n        pass\n")
        result = await call(CodeSymbols(explorer), folder, query="go")
        assert (result.content, result.summary) == ("a.py:2-3: method of A: def go(self):", "1 definition")
        nothing = await call(CodeSymbols(explorer), folder, query="nothing")
        assert (nothing.ok, nothing.summary) == (True, "none")

    async def test_many_definitions_are_cut_and_counted(self, explorer, folder):
        write(folder, a_py="".join(f"def go_{number}(): pass\n" for number in range(50)))
        content = (await call(CodeSymbols(explorer), folder, query="go", limit=2)).content
        assert content.splitlines()[1:] == [
            "a.py:2: function: def go_1(): pass",
            "[48 more definitions left out: narrow query, kind or path, or raise limit (up to 300)]",
        ]

    async def test_an_outline_is_a_tree_of_lines(self, explorer, editor, folder):
        write(folder, a_py="class A:\n    def go(self):\n        pass\n\nX = 1\n")
        tool = CodeOutline(explorer)
        assert (await call(tool, folder, path="a.py")).content == "1-3 class A:\n  2-3 def go(self):\n5 X = 1"
        editor.type(folder / "a.py", "def typed(): pass\n")
        assert (await call(tool, folder, path="a.py")).content == "1 def typed(): pass"
        write(folder, empty_py="")
        assert (await call(tool, folder, path="empty.py")).summary == "no definitions"

    async def test_an_outline_of_very_much_keeps_what_matters(self, explorer, folder):
        lines = [f"class A{number}:\n    x = 1\n    def go(self): pass\n" for number in range(300)]
        write(folder, a_py="".join(lines))
        content = (await call(CodeOutline(explorer), folder, path="a.py")).content
        assert content.count("class A") == 300
        assert content.endswith("[600 definitions left out: code_symbols with this path finds them by name]")

    async def test_a_map_shows_folders_counts_and_languages(self, explorer, folder):
        write(
            folder, README_md="# A\n", src__a_py="", src__deep__er__b_py="", tests__test_a_py="", node_modules__x_py=""
        )
        assert (await call(CodeMap(explorer), folder, depth=2)).content == (
            "./ 5 files; Python 80 %, Markdown 20 %\n"
            "README.md\n"
            "src/ 2: a.py\n"
            "  deep/ 1, 1 folder not shown\n"
            "tests/ 1: test_a.py\n"
            "node_modules/ 1: x.py"
        )
        assert (
            await call(CodeMap(explorer), folder, path="src/deep")
        ).content == "src/deep/ 1 file; Python 100 %\ner/ 1: b.py"

    async def test_a_map_of_very_many_folders_fits_and_counts_the_rest(self, explorer, folder):
        for number in range(200):
            write(folder, **{f"d{number:03}__a_py": "", f"d{number:03}__in__b_py": ""})
        content = (await call(CodeMap(explorer), folder)).content
        assert len(content.encode()) < 17_000
        assert content.startswith("./ 400 files; Python 100 %\nd000/ 2, 1 folder not shown: a.py\n")
        assert content.endswith("[80 folders left out: name one as path]")
