import os
from pathlib import Path

import pytest

from smith_server.config.files import read
from smith_server.config.layers import reread
from smith_server.config.lines import Lines
from smith_server.config.salvage import rules_in
from smith_server.core.errors import AgentFailure
from tests.config.sources import Scratch
from tests.store.builders import without_root


def test_an_unknown_key_is_told_with_its_line_and_the_nearest_known_one(scratch: Scratch) -> None:
    scratch.own.write_text('# my settings\ndefault_modle = "x"\n[bash]\ntimeuot = 3\n')
    assert scratch.load().problems == (
        f"{scratch.own}:2: there is no setting `default_modle`; did you mean `default_model`?",
        f"{scratch.own}:4: there is no setting `bash.timeuot`; did you mean `bash.timeout`?",
    )


def test_a_key_in_a_file_is_answered_with_where_keys_belong_and_never_repeated(scratch: Scratch) -> None:
    scratch.own.write_text('[providers.openai]\napi_key = "sk-1234"\n')
    assert scratch.load().problems == (
        f"{scratch.own}:2: there is no setting `providers.openai.api_key`; keys are read from the environment only",
    )


def test_the_line_of_a_key_is_that_of_its_own_table(scratch: Scratch) -> None:
    scratch.own.write_text("[mcp]\ntimeout = 5\n[bash] # limits\ntimeout = 0\n")
    assert scratch.load().problems[0].startswith(f"{scratch.own}:4: `bash.timeout`")


def test_lines_are_known_in_toml_and_in_json() -> None:
    toml = Lines('a = 1\n[x."y.z"]\nb.c = 2\n[[hooks.stop]]\ncommand = """\nq = 3\n"""\n')
    paths = [("a",), ("x", "y.z", "b"), ("x", "y.z", "b", "c"), ("hooks", "stop", "command"), ("nothing",)]
    assert [toml.suffix(path) for path in paths] == [":1", ":3", ":3", ":5", ""]
    json = Lines('{"a": 1,\n "x": {\n  "b": [{"c": 1}]},\n "d": "e: {"}')
    assert [json.suffix(path) for path in [("a",), ("x", "b"), ("d",), ("x", "q")]] == [":1", ":3", ":4", ":2"]


def test_control_characters_and_long_names_do_not_reach_the_terminal(scratch: Scratch) -> None:
    scratch.own.write_text(f'"\\u001b[2J{"x" * 5000}" = 1\n')
    (told,) = scratch.load().problems
    assert "\x1b" not in told
    assert len(told) < len(str(scratch.own)) + 200


def test_thousands_of_unknown_keys_are_told_in_short_and_at_once(scratch: Scratch) -> None:
    scratch.own.write_text("".join(f"key{number} = 1\n" for number in range(20_000)))
    problems = scratch.load().problems
    assert len(problems) == 51
    assert problems[-1] == "19950 more settings cannot be used."


DEEP = "a = " + "[" * 20_000 + "]" * 20_000


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("config.toml", b"x = 1\napproval = [\n", None),
        ("config.toml", b"\n\nx y", 3),
        ("config.toml", b"\xff\xfe", 1),
        ("config.toml", 'x = "a"\ny = "\u00e9"'.encode("latin-1"), 2),
        ("config.toml", b"[bash]\n[bash]\n", 2),
        ("config.toml", DEEP.encode(), None),
        ("config.toml", b"#" * (1 << 20) + b"\n", None),
        ("config.json", b'{"a": 1,\n', 2),
        ("config.json", b'{"a": 1, "a": 2}', None),
        ("config.json", b"[]", 1),
        ("config.json", b"", 1),
        ("config.json", b"[" * 100_000, None),
        ("config.json", b'{"a": ' + b"9" * 5000 + b"}", None),
    ],
    ids=[
        "open list",
        "syntax",
        "UTF-16",
        "Latin-1",
        "table twice",
        "deep nesting",
        "too large",
        "open object",
        "key twice",
        "no table",
        "empty JSON",
        "deep JSON",
        "huge number",
    ],
)
def test_a_file_that_cannot_be_read_is_one_warning_and_never_widens(
    scratch: Scratch, name: str, content: bytes, line: int | None
) -> None:
    path = scratch.home / name
    path.write_bytes(content)
    scratch.flags = {"approval": {"mode": "auto", "allow": ["bash(*)"]}, "max_requests": 5}
    loaded = scratch.load()
    (told,) = loaded.problems
    assert loaded.unsafe
    assert told.startswith(f"{path}:{line} cannot be used" if line else str(path))
    assert (loaded.settings.approval.mode, loaded.settings.approval.allow) == ("prompt", ())
    assert loaded.settings.max_requests == 5
    assert "approval.mode" not in loaded.origin


def test_nothing_that_allows_is_left_when_another_file_cannot_be_read(scratch: Scratch) -> None:
    scratch.own.write_text('[approval]\nmode = "auto"\nallow = ["bash(*)"]\nallowlist = ["rm"]\nask = ["x"]\n')
    scratch.projects.write_text("???")
    loaded = scratch.load()
    approval = loaded.settings.approval
    assert (approval.mode, approval.allow, approval.allowlist, approval.ask) == ("prompt", (), (), ("x",))
    assert set(loaded.origin) == {"approval.ask"}


@pytest.mark.parametrize("kind", ["folder", "pipe", "loose link"])
def test_what_is_no_regular_file_is_told_and_never_waited_for(scratch: Scratch, kind: str) -> None:
    make = {"folder": Path.mkdir, "pipe": os.mkfifo, "loose link": lambda path: path.symlink_to("nowhere")}
    make[kind](scratch.own)
    loaded = scratch.load()
    assert loaded.unsafe
    assert loaded.problems == (f"{scratch.own} cannot be used: it is no regular file",)


@pytest.mark.parametrize(
    "text",
    [
        '[approval]\nmode = "never"',
        "[approval]\nmode = 3",
        "approval = 3",
        "[approval]\nallow = [3]",
        '[approval]\nallow = "bash(*)"',
        '[approval]\ndenny = ["bash(*)"]',
        "[[hooks.stop]]\ntimeout = 3",
        '[[hooks.stop]]\ncommand = " "',
        '[[hooks.pre_tool_use]]\ncommand = "x"\nmatcher = "("',
        '[[hooks.stop]]\ncommand = "x"\ntimeout = 0',
        '[hooks]\nstop = "x"',
        '[sandbox]\nenabled = "yes"',
        "[sandbox]\nenabeld = true",
    ],
)
def test_a_bad_value_where_the_person_is_protected_never_widens(scratch: Scratch, text: str) -> None:
    scratch.own.write_text(text)
    scratch.flags = {"approval": {"mode": "auto"}}
    loaded = scratch.load()
    assert loaded.unsafe
    assert loaded.settings.approval.mode == "prompt"
    assert len(loaded.problems) == 1


def test_bad_hooks_are_left_out_and_the_others_stay(scratch: Scratch) -> None:
    scratch.own.write_text(
        '[hooks]\nstop = [{command = "good"}, {}, {command = "x", matcher = "["}, 3]\nsession_strat = []\n'
    )
    loaded = scratch.load()
    assert [hook.command for hook in loaded.settings.hooks.stop] == ["good"]
    assert [text.partition("`")[2].partition("`")[0] for text in loaded.problems] == [
        "hooks.stop",
        "hooks.session_strat",
    ]


def test_an_unknown_hook_event_alone_is_a_warning(scratch: Scratch) -> None:
    scratch.own.write_text('[[hooks.notification]]\ncommand = "x"\n')
    assert not scratch.load().unsafe


def test_every_deny_and_ask_rule_that_can_be_read_stays(scratch: Scratch) -> None:
    scratch.own.write_text(
        '[approval]\nmode = "auto"\ndeny = ["bash(rm *)", 3, ""]\nask = "write(**)"\nallow = ["bash(*)"]\n'
    )
    approval = scratch.load().settings.approval
    assert (approval.deny, approval.ask, approval.allow, approval.mode) == (
        ("bash(rm *)",),
        ("write(**)",),
        (),
        "prompt",
    )


@pytest.mark.parametrize(
    ("text", "deny", "ask"),
    [
        ('[approval]\ndeny = ["a", "b"]\nmode = ', ("a", "b"), ()),
        ('approval.ask = ["a"] # x\n???', (), ("a",)),
        ('[approval]\ndeny = [\n  \'a\', # why\n  "b \\" c",\n]\nbroken', ("a", 'b " c'), ()),
        ('approval = { deny = ["a"], mode = ', ("a",), ()),
        ('[approval]\ndeny = ["a", "b"\nask = ["c"', ("a", "b"), ("c",)),
        ('[approval]\ndeny = "a"\n[approval]\ndeny = ["b"]', ("a", "b"), ()),
        ('{"approval": {"deny": ["a", "b"], "ask": ["c"], ', ("a", "b"), ("c",)),
        ("nothing here", (), ()),
    ],
    ids=["behind", "dotted", "many lines", "inline", "open", "twice", "JSON", "none"],
)
def test_deny_and_ask_rules_are_made_out_in_a_text_that_no_parser_takes(
    scratch: Scratch, text: str, deny: tuple[str, ...], ask: tuple[str, ...]
) -> None:
    path = scratch.own if not text.startswith("{") else scratch.own.with_suffix(".json")
    path.write_text(text)
    approval = scratch.load().settings.approval
    assert (approval.deny, approval.ask) == (deny, ask)


def test_of_rules_that_are_made_out_blank_ones_are_none() -> None:
    assert rules_in('deny = ["", " ", "a"') == {"approval": {"deny": ["a"]}}
    assert rules_in('deny = [" "') == {}


def test_making_rules_out_takes_no_time_whatever_the_text_is() -> None:
    for text in ("deny=[" * 150_000, "deny=[\n#" * 100_000, 'deny = ["' + "\\" * 900_000, '"deny":["a",' * 80_000):
        rules_in(text)


def test_a_file_with_a_byte_order_mark_is_read(scratch: Scratch) -> None:
    scratch.own.write_bytes(b'\xef\xbb\xbfdefault_model = "x"\n')
    assert scratch.load().settings.default_model == "x"


def test_json_has_the_same_keys_and_loses_against_toml(scratch: Scratch) -> None:
    twin = scratch.own.with_suffix(".json")
    twin.write_text('{"default_model": "json"}')
    assert scratch.load().settings.default_model == "json"
    scratch.own.write_text('default_model = "toml"')
    loaded = scratch.load()
    assert loaded.settings.default_model == "toml"
    assert loaded.problems == (f"{twin} is ignored: {scratch.own} is there too",)


def test_a_file_that_is_not_there_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert [read(tmp_path / "nothing.toml"), read(tmp_path / "file" / "config.toml")] == [None, None]


def test_a_folder_that_may_not_be_looked_into_is_unsafe_and_told(scratch: Scratch) -> None:
    scratch.own.write_text("max_requests = 3\n")
    scratch.home.chmod(0)
    with without_root():
        loaded = scratch.load()
    scratch.home.chmod(0o700)
    assert (loaded.unsafe, loaded.settings.max_requests) == (True, 500)
    assert loaded.problems[0] == f"{scratch.own} cannot be used: Permission denied"


def test_a_named_file_with_an_impossible_name_is_told_as_missing(scratch: Scratch) -> None:
    with pytest.raises(AgentFailure, match="does not exist or is no file"):
        scratch.load(Path("a" * 5000))


def test_a_running_session_keeps_the_last_good_settings_and_adds_what_protects(scratch: Scratch) -> None:
    scratch.own.write_text('max_requests = 9\n[approval]\nmode = "auto"\ndeny = ["a"]\n')
    good = scratch.load()
    scratch.own.write_text('max_requests = 5\n[approval]\ndeny = ["b"]\nmode = ')
    kept = reread(scratch.sources(), good)
    assert (kept.settings.max_requests, kept.settings.approval.mode, kept.unsafe) == (9, "auto", False)
    assert kept.settings.approval.deny == tuple(kept.tree["approval"]["deny"]) == ("a", "b")
    assert len(kept.problems) == 2
    assert kept.problems[-1].startswith("The settings as they were before")
    scratch.own.write_text("max_requests = 6")
    assert reread(scratch.sources(), kept) == scratch.load()


def test_a_session_that_began_with_unsafe_settings_takes_what_is_there(scratch: Scratch) -> None:
    scratch.own.write_text("approval = 3")
    bad = scratch.load()
    scratch.own.write_text("approval = 4\nmax_requests = 3")
    again = reread(scratch.sources(), bad)
    assert (again.unsafe, again.settings.max_requests) == (True, 3)
