import re
import time
from pathlib import Path

import pytest

from tests.nvim.editor import PLUGIN, TestEditor
from tests.nvim.server import TestServer, until

pytestmark = pytest.mark.nvim


@pytest.fixture
def path(project: Path) -> Path:
    file = project / "a.txt"
    file.write_text("one\n")
    return file


def test_the_server_is_told_who_speaks_and_what_time_it_is(
    editor: TestEditor, server: TestServer, path: Path, project: Path
) -> None:
    editor.lua("require('smith').setup({ cmd = require('smith.config').values.cmd, init_options = { model = 'm' } })")
    editor.edit(path)
    editor.start()
    [params] = server.sent("initialize")
    announced = params["capabilities"]["experimental"]["smith"]
    now = announced.pop("now")
    assert announced == {"protocol": 1, "events": True, "applyEdit": True, "review": False}
    assert abs(now - time.time() * 1000) < 60_000
    assert params["initializationOptions"] == {"model": "m", "now": now}
    assert params["capabilities"]["general"]["positionEncodings"] == ["utf-8", "utf-16", "utf-32"]
    assert params["rootUri"] == project.as_uri()


@pytest.mark.parametrize("marker", ["folder", "file"])
def test_the_root_is_the_nearest_folder_with_git_in_it(
    editor: TestEditor, server: TestServer, project: Path, marker: str
) -> None:
    inner = project / "inner"
    (inner / "deep").mkdir(parents=True)
    if marker == "folder":
        (inner / ".git").mkdir()
    else:
        (inner / ".git").write_text("gitdir: elsewhere\n")
    editor.edit(inner / "deep" / "a.txt")
    editor.start()
    assert server.sent("initialize")[0]["rootUri"] == inner.as_uri()


def test_without_git_the_root_is_the_current_folder(editor: TestEditor, server: TestServer, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    (bare / "sub").mkdir(parents=True)
    editor.nvim.command(f"cd {bare}")
    editor.edit(bare / "sub" / "a.txt")
    editor.start()
    assert server.sent("initialize")[0]["rootUri"] == bare.as_uri()


def test_nothing_is_loaded_before_it_is_used(editor: TestEditor) -> None:
    loaded = "return vim.tbl_filter(function(name) return name:find('^smith') end, vim.tbl_keys(package.loaded))"
    editor.lua("for name in pairs(package.loaded) do if name:find('^smith') then package.loaded[name] = nil end end")
    editor.nvim.command("unlet g:loaded_smith | runtime plugin/smith.lua")
    assert editor.lua(loaded) == []
    assert editor.nvim.funcs.exists(":Smith") == 2


def test_the_death_of_the_server_is_told_and_the_next_prompt_starts_it_again(
    editor: TestEditor, server: TestServer, path: Path
) -> None:
    editor.edit(path)
    editor.keys(":Smith<CR>")
    until(editor.is_ready)
    chat = editor.chat()
    server.event("turn_started", text="go", model="m", provider="p")
    server.event("tool_call_started", call_id="a", name="bash", arguments="{}", title="make")
    until(lambda: "… bash make" in editor.lines(chat))
    editor.lua("vim.uv.kill(..., 9)", server_pid(editor))
    until(lambda: "it starts again with your next prompt" in editor.messages())
    ended = ["– bash make — no result", "", "✗ the server was ended by signal 9"]
    until(lambda: editor.lines(chat)[2:5] == ended)
    assert not editor.mode()["blocking"]
    editor.keys("iagain<C-s>")
    assert until(lambda: server.commands("smith.turn"))[0]["text"] == "again"
    assert until(lambda: server.document(path).text) == "one\n"
    assert len(server.sent("initialize")) == 2
    document = server.document(path)
    assert server.apply(server.change(document, [document.edit(0, "one", "1")]))["status"] == "applied"


def server_pid(editor: TestEditor) -> int:
    pid: int = editor.lua(
        """
        local children = vim.api.nvim_get_proc_children(vim.fn.getpid())
        for _, pid in ipairs(children) do
          if table.concat(vim.fn.readfile('/proc/' .. pid .. '/cmdline')):find('fake_server', 1, true) then
            return pid
          end
        end
        return 0
        """
    )
    assert pid > 0
    return pid


def test_a_prompt_that_a_dying_server_swallowed_comes_back(editor: TestEditor, server: TestServer, path: Path) -> None:
    editor.edit(path)
    editor.keys(":Smith<CR>")
    until(editor.is_ready)
    editor.keys("iprecious words<C-s>")
    until(lambda: server.commands("smith.turn"))
    editor.lua("vim.uv.kill(..., 9)", server_pid(editor))
    until(lambda: editor.lines(editor.chat())[-1] == "precious words")


@pytest.mark.parametrize("command", [["no-such-program"], ["false"]])
def test_a_server_that_does_not_start_is_told_and_the_prompt_is_kept(
    editor: TestEditor, path: Path, command: list[str]
) -> None:
    editor.lua("require('smith').setup({ cmd = ..., start_insert = false })", command)
    editor.edit(path)
    editor.keys(":Smith<CR>")
    until(editor.chat)
    editor.keys("ihello<C-s><Esc>")
    until(lambda: editor.lines(editor.chat())[-1] == "hello")
    reason = "no-such-program is not found" if command == ["no-such-program"] else "exit code 1"
    until(lambda: reason in "\n".join(editor.lines(editor.chat())))
    assert not editor.mode()["blocking"]


def test_leaving_neovim_does_not_wait_for_the_server(editor: TestEditor, server: TestServer, path: Path) -> None:
    editor.edit(path)
    editor.keys(":Smith<CR>")
    until(editor.is_ready)
    editor.keys("ihello<C-s>")
    until(lambda: server.commands("smith.turn"))
    pid = server_pid(editor)
    began = time.monotonic()
    editor.close()
    assert time.monotonic() - began < 2
    until(lambda: not Path(f"/proc/{pid}").exists())


def test_the_server_can_be_stopped_and_started(editor: TestEditor, server: TestServer, path: Path) -> None:
    editor.edit(path)
    editor.keys(":Smith<CR>")
    until(editor.is_ready)
    editor.keys(":Smith stop<CR>")
    until(lambda: server.sent("shutdown"))
    until(lambda: server.sent("exit"))
    until(lambda: not editor.is_ready())
    editor.keys("ihello<C-s>")
    assert until(lambda: server.commands("smith.turn"))
    assert "starts again" not in editor.messages()


def test_messages_in_a_row_never_ask_for_a_key(editor: TestEditor) -> None:
    editor.lua(
        """
        local log = require('smith.log')
        for i = 1, 9 do
          log.tell(('message %d '):format(i) .. ('long '):rep(60) .. '\\nand more', i % 2 == 0 and 'error' or 'info')
        end
        """
    )
    until(lambda: "message 9" in editor.messages())
    assert editor.mode() == {"mode": "n", "blocking": False}


def test_settings_that_are_wrong_are_named_and_the_rest_holds(editor: TestEditor) -> None:
    editor.lua(
        """
        require('smith').setup({
          cmd = 'smith', position = 'left', colour = true, keys = { fly = 'x', send = 3, yes = false },
        })
        """
    )
    values = editor.lua("return require('smith.config').values")
    assert (values["position"], values["cmd"][0], values["keys"]["yes"]) == ("left", "smith", False)
    assert values["keys"]["send"] == "<CR>"
    parts = ("cmd must be", "colour is no setting", "keys.fly", "keys.send")
    until(lambda: all(part in editor.messages() for part in parts))


def test_subcommands_are_completed_and_an_unknown_one_is_named(editor: TestEditor) -> None:
    complete = "return vim.fn.getcompletion(..., 'cmdline')"
    assert editor.lua(complete, "Smith c") == ["cancel", "close"]
    assert "send" in editor.lua(complete, "Smith ")
    assert editor.lua(complete, "Smith send a") == []
    editor.keys(":Smith fly<CR>")
    until(lambda: "there is no :Smith fly" in editor.messages())


def test_nothing_to_cancel_or_to_answer_is_told(editor: TestEditor) -> None:
    editor.keys(":Smith cancel<CR>:Smith yes<CR>")
    until(lambda: "nothing is running" in editor.messages())
    until(lambda: "nothing is asked" in editor.messages())


def test_the_health_check_tells_what_runs(editor: TestEditor, server: TestServer, path: Path) -> None:
    editor.edit(path)
    editor.start()
    editor.nvim.command("checkhealth smith")
    report = "\n".join(editor.lines())
    for part in (r"OK Neovim 0\.", "OK command: ", r"OK protocol 1, ours is 1; server 0-fake", "utf-8", str(path)):
        assert re.search(part, report), f"{part} is not in\n{report}"
    assert "smith.nvim.log" in report
    assert "ERROR" not in report


def test_the_health_check_says_what_to_do_when_the_command_is_not_found(editor: TestEditor) -> None:
    editor.lua("require('smith').setup({ cmd = { 'no-such-program' } })")
    editor.nvim.command("checkhealth smith")
    report = "\n".join(editor.lines())
    assert "ERROR no-such-program is not found" in report
    assert "setup({ cmd" in report


def test_help_has_every_setting_command_and_map(editor: TestEditor, tmp_path: Path) -> None:
    names = editor.lua(
        """
        local config = require('smith.config').defaults
        return { vim.tbl_keys(config), vim.tbl_keys(config.keys), vim.fn.getcompletion('Smith ', 'cmdline') }
        """
    )
    doc = tmp_path / "doc"
    doc.mkdir()
    text = (PLUGIN / "doc" / "smith.txt").read_text()
    (doc / "smith.txt").write_text(text)
    editor.nvim.command(f"set rtp-={PLUGIN} | set rtp+={tmp_path} | helptags {doc} | help smith")
    assert "smith.txt" in editor.nvim.current.buffer.name
    tags = (doc / "tags").read_text()
    for setting in names[0]:
        assert f"smith-setting-{setting}\t" in tags
    for key in names[1]:
        assert re.search(rf"^\s+{key}\s", text, re.M), key
    for sub in names[2]:
        assert f":Smith-{sub}\t" in tags
    plugs = re.findall(r"^map\(.*, '(\w+)', '\w+'\)", (PLUGIN / "plugin/smith.lua").read_text(), re.M)
    assert plugs
    for name in plugs:
        assert f"<Plug>(smith-{name})" in text


def test_no_line_of_help_is_wider_than_a_help_window() -> None:
    lines = (PLUGIN / "doc" / "smith.txt").read_text().splitlines()
    assert [line for line in lines if len(line) > 78] == []


def test_help_says_how_to_send_and_what_always_means() -> None:
    text = " ".join((PLUGIN / "doc" / "smith.txt").read_text().split())
    assert "press <C-s> in insert mode or <CR> in normal mode" in text
    assert "Two slashes begin a prompt that begins with a slash: `//etc is full`" in text
    assert '"Always" allows that tool, not only that file' in text
