from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smith_server.config.freeze import thaw
from smith_server.config.layers import Sources, load, read, stamp
from smith_server.config.merge import Layer, merge
from smith_server.config.paths import Places, places, project_root
from smith_server.config.schema import Settings
from smith_server.core.errors import AgentFailure
from tests.config.sources import Scratch, value


def without_protected(held: Settings) -> Settings:
    approval = msgspec.structs.replace(held.approval, protected=Settings().approval.protected)
    return msgspec.structs.replace(held, approval=approval)


def test_the_stamp_changes_with_every_file_that_is_read_and_with_nothing_else(scratch: Scratch) -> None:
    def now() -> tuple[object, ...]:
        return stamp(scratch.places, scratch.project)

    seen = [now()]
    for file in (scratch.own, scratch.projects, scratch.projects.with_suffix(".json")):
        file.write_text("max_requests = 3")
        seen.append(now())
        file.write_text("max_requests = 30")
        seen.append(now())
        file.unlink()
    (scratch.home / "smith.db").write_text("")
    (scratch.project / "a.py").write_text("")
    assert now() == seen[0]
    assert len(set(seen)) == len(seen)


def test_without_any_file_the_defaults_hold(scratch: Scratch) -> None:
    loaded = scratch.load()
    assert without_protected(loaded.settings) == Settings()
    assert (loaded.origin, loaded.problems, loaded.unsafe, loaded.waiting) == ({}, (), False, {})


def test_six_layers_go_one_before_the_other_and_every_value_knows_its_own(scratch: Scratch) -> None:
    scratch.own.write_text(
        "[mcp]\ntimeout = 50\n[context_management]\nelide_step = 8\ncompact_to = 0.8\nmax_tokens = 800\n"
        "tool_output_keep_rounds = 80\n"
    )
    scratch.projects.write_text("[context_management]\nelide_step = 7\ncompact_to = 0.7\nmax_tokens = 700\n")
    scratch.patch = {"context_management": {"compact_to": 0.6, "max_tokens": 600}}
    scratch.environ = {"MCP_TOOL_TIMEOUT": "40"}
    scratch.flags = {"context_management": {"max_tokens": 500}}
    loaded = scratch.load()
    names = ["enabled", "tool_output_keep_rounds", "elide_step", "compact_to", "max_tokens"]
    found = {name: value(loaded, f"context_management.{name}") for name in names}
    own, project = str(scratch.own), str(scratch.projects)
    assert loaded.problems == ()
    assert found == {
        "enabled": True,
        "tool_output_keep_rounds": 80,
        "elide_step": 7,
        "compact_to": 0.6,
        "max_tokens": 500,
    }
    assert loaded.settings.mcp.timeout == 40
    assert loaded.origin == {
        "context_management.tool_output_keep_rounds": own,
        "context_management.elide_step": project,
        "context_management.compact_to": "/config set",
        "context_management.max_tokens": "command line",
        "mcp.timeout": "environment",
    }


def test_the_model_and_the_provider_of_the_environment_hold_for_every_provider(scratch: Scratch) -> None:
    scratch.own.write_text('[defaults]\nprovider = "openrouter"\n[providers.ollama]\nmodel = "file"\n')
    scratch.environ = {"SMITH_MODEL": "m", "SMITH_PROVIDER": "Ollama", "SMITH_MODE": " Plan ", "OLLAMA_HOST": "h:1"}
    held = scratch.load().settings
    providers = held.providers
    models = {getattr(providers, name).model for name in providers.__struct_fields__}
    assert models == {"m"}
    assert (held.defaults.provider, held.defaults.mode, providers.ollama.host) == ("ollama", "plan", "h:1")


def test_an_empty_variable_counts_as_unset_and_a_wrong_one_is_told_by_its_name(scratch: Scratch) -> None:
    scratch.environ = {"SMITH_MODEL": "", "SMITH_PROVIDER": "", "MCP_TOOL_TIMEOUT": "0"}
    loaded = scratch.load()
    assert (loaded.origin, loaded.settings.mcp.timeout) == ({}, 60)
    assert [text.partition(":")[0] for text in loaded.problems] == ["environment MCP_TOOL_TIMEOUT"]


def test_tables_merge_by_key_and_lists_replace_as_a_whole(scratch: Scratch) -> None:
    scratch.own.write_text(
        '[models]\na = "1"\nb = "1"\n[llm_config]\nretry_backoff_ms = [1, 2, 3]\n'
        "[services.ui]\nlist = [1, 2]\ndeep = {a = 1, b = 2}\n"
    )
    scratch.flags = {
        "models": {"b": "2"},
        "llm_config": {"retry_backoff_ms": [9]},
        "services": {"ui": {"list": [3], "deep": {"b": 3}}},
    }
    loaded = scratch.load()
    assert loaded.tree["models"] == {"a": "1", "b": "2"}
    assert value(loaded, "llm_config.retry_backoff_ms") == [9]
    assert value(loaded, "services.ui") == {"list": [3], "deep": {"a": 1, "b": 3}}


def test_merging_changes_nothing_that_it_is_given(scratch: Scratch) -> None:
    scratch.flags = {"approval": {"deny": ["bash(rm *)"]}, "models": {"a": "b"}}
    scratch.patch = {"models": {"c": "d"}}
    before = thaw([scratch.flags, scratch.patch])
    scratch.load()
    assert [scratch.flags, scratch.patch] == before


def test_null_counts_as_absent(scratch: Scratch) -> None:
    scratch.own.with_suffix(".json").write_text('{"max_requests": null, "bash": null, "models": {"a": null}}')
    loaded = scratch.load()
    assert without_protected(loaded.settings) == Settings()
    assert (loaded.origin, loaded.problems) == ({}, ())


def test_deny_ask_and_hooks_of_all_layers_add_up_lowest_first(scratch: Scratch) -> None:
    scratch.own.write_text('[approval]\ndeny = ["a(*)", "b(*)"]\nask = ["x(*)"]\n[[hooks.stop]]\ncommand = "one"\n')
    scratch.projects.write_text('[approval]\ndeny = ["b(*)", "c(*)"]\nask = []\n')
    scratch.flags = {"approval": {"deny": ["d(*)"], "allow": ["y(*)"]}, "hooks": {"stop": [{"command": "two"}]}}
    loaded = scratch.load()
    approval = loaded.settings.approval
    assert (approval.deny, approval.ask) == (("a(*)", "b(*)", "c(*)", "d(*)"), ("x(*)",))
    assert [hook.command for hook in loaded.settings.hooks.stop] == ["one", "two"]
    assert loaded.origin["approval.deny"] == f"{scratch.own} + {scratch.projects} + command line"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("max_requests = true", "max_requests"),
        ("max_requests = 0", "max_requests"),
        ("max_requests = 2.5", "max_requests"),
        ("[bash]\ntimeout = nan", "bash.timeout"),
        ("[bash]\ntimeout = inf", "bash.timeout"),
        ("[bash]\ntimeout = -1", "bash.timeout"),
        ('[bash]\ntimeout = "60"', "bash.timeout"),
        ("[bash]\ntimeout = 1979-05-27", "bash.timeout"),
        ("bash = 3", "bash"),
        ('[models]\nx = ""', "models.x"),
        ("[services.ui]\nx = 1979-05-27", "services.ui.x"),
        ("services.ui." + "a." * 80 + "b = 1", "services.ui" + ".a" * 30),
    ],
    ids=lambda text: text[:40],
)
def test_a_bad_value_costs_itself_alone(scratch: Scratch, text: str, told: str) -> None:
    scratch.own.write_text(f'default_model = "kept"\n{text}\n')
    loaded = scratch.load()
    assert without_protected(loaded.settings) == Settings(default_model="kept")
    assert scratch.told() == [told[:79] + "…" if len(told) > 80 else told]
    assert not loaded.unsafe


def test_a_bad_value_leaves_that_of_the_next_lower_layer_and_says_so(scratch: Scratch) -> None:
    scratch.own.write_text("max_requests = 7\n")
    scratch.flags = {"max_requests": "many"}
    loaded = scratch.load()
    assert loaded.settings.max_requests == 7
    assert loaded.problems == (
        f"command line: `max_requests` must be a whole number from 1, not a text; that of {scratch.own} holds",
    )


def test_a_price_without_both_halves_is_told_and_left_out(scratch: Scratch) -> None:
    scratch.own.write_text('[pricing." OpenAI/GPT-9.1"]\ninput = 1\noutput = 2.5\n[pricing.x]\ninput = 3\n')
    loaded = scratch.load()
    assert {name: (price.input, price.output) for name, price in loaded.settings.pricing.items()} == {
        "openai/gpt-9.1": (1, 2.5)
    }
    assert loaded.problems == (f"{scratch.own}: `pricing.x` is ignored: a price needs `input` and `output`",)
    assert "pricing.x.input" not in loaded.origin


def test_the_key_command_is_taken_from_the_global_file_only(scratch: Scratch) -> None:
    tree = {"providers": {"openai": {"api_key_command": "pass show other"}}}
    scratch.own.write_text('[providers.openai]\napi_key_command = "pass show openai"\n')
    scratch.projects.write_text('[providers.openai]\napi_key_command = "evil"\n')
    scratch.flags = tree
    scratch.patch = tree
    loaded = scratch.load()
    assert loaded.settings.providers.openai.api_key_command == "pass show openai"
    assert scratch.told() == ["providers.openai.api_key_command"] * 3
    assert loaded.waiting == {}


def test_a_file_that_was_named_has_to_be_there_and_stands_for_the_global_one(scratch: Scratch, tmp_path: Path) -> None:
    with pytest.raises(AgentFailure) as caught:
        scratch.load(tmp_path / "missing.toml")
    assert caught.value.error.code == "config_missing"
    scratch.own.write_text("max_requests = 3")
    named = tmp_path / "named.toml"
    named.write_text('[approval]\nmode = "auto"\n')
    held = scratch.load(named).settings
    assert (held.max_requests, held.approval.mode) == (500, "auto")


def test_the_older_way_to_load_is_the_same(scratch: Scratch) -> None:
    scratch.own.write_text("max_requests = 3")
    assert load(scratch.places, scratch.project, {}, {}) == scratch.load()


def test_the_folder_of_the_settings_is_protected_with_whatever_is_in_its_name(tmp_path: Path) -> None:
    home = tmp_path / "a[b]*{c}"
    home.mkdir()
    loaded = read(Sources(Places(home, home, home), tmp_path, {}))
    assert loaded.settings.approval.protected[-1] == f"{tmp_path}/a[[]b][*][{{]c}}/**"
    (home / "config.toml").write_text('[approval]\nprotected = ["x"]\n')
    assert read(Sources(Places(home, home, home), tmp_path, {})).settings.approval.protected == ("x",)


KEYS = [
    "approval",
    "mode",
    "deny",
    "bash",
    "timeout",
    "models",
    "default",
    "providers",
    "ollama",
    "headers",
    "services",
]
KEYS += ["max_requests", "http", "read_timeout", "context", "compact_at", "hooks", "stop", "command", "ui", "pricing"]
leaves = st.sampled_from([None, True, 3, -1, 2.5, float("nan"), "auto", "", [], {}, ["x"], [{"command": "x"}], 10**30])
trees = st.recursive(leaves, lambda inner: st.dictionaries(st.sampled_from(KEYS), inner, max_size=4), max_leaves=12)
layers = st.dictionaries(st.sampled_from(KEYS), trees, max_size=5)


@settings(deadline=None)
@given(st.lists(layers, max_size=4), layers, st.sampled_from(["global", "project", "patch", "other"]))
def test_any_layers_at_all_give_valid_settings(many: list[dict[str, Any]], one: dict[str, Any], kind: Any) -> None:
    stack = [*(Layer(str(number), tree) for number, tree in enumerate(many)), Layer("last", one, kind=kind)]
    assert merge(stack) == merge(stack)
    where = Places(Path("/nowhere"), Path("/nowhere"), Path("/nowhere"))
    names = {str(number): tree for number, tree in enumerate(many)}
    loaded = read(Sources(where, Path("/nowhere"), {}, patch=one, ephemeral=names, editor_project=one))
    assert loaded.settings.max_requests >= 1
    assert msgspec.json.decode(msgspec.json.encode(loaded.settings), type=Settings) == loaded.settings
    assert all(loaded.origin.values())


numbers = st.lists(st.one_of(st.integers(-2, 4000), st.just(True), st.just("60"), st.none()), max_size=6)


@given(numbers)
def test_of_all_layers_the_highest_good_value_holds(given_values: list[Any]) -> None:
    stack = [Layer(str(number), {"bash": {"timeout": each}}) for number, each in enumerate(given_values)]
    good = [each for each in given_values if type(each) is int and 0 < each <= 3600]
    assert merge(stack).tree.get("bash", {}).get("timeout") == (good[-1] if good else None)


@given(st.lists(st.tuples(st.sampled_from(["project", "other"]), st.lists(st.sampled_from("abcd")), st.booleans())))
def test_no_layer_takes_a_deny_rule_of_another_away(rows: list[tuple[Any, list[str], bool]]) -> None:
    stack = [
        Layer(
            str(number), {"approval": {"deny": rules, **({"mode": "auto", "allow": rules} if more else {})}}, kind=kind
        )
        for number, (kind, rules, more) in enumerate(rows)
    ]
    assert set(merge(stack).tree.get("approval", {}).get("deny", ())) == {
        rule for _, rules, _ in rows for rule in rules
    }


def test_places_follow_one_root_or_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "all"
    assert places({"SMITH_HOME": str(root)}, tmp_path) == Places(root, root, root)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "c"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "d"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "s"))
    (tmp_path / ".smith").mkdir()
    found = places({}, tmp_path)
    assert (found.config, bool(found.note)) == (tmp_path / ".smith", True)


def test_the_project_begins_at_git_folder_or_file(tmp_path: Path) -> None:
    inner = tmp_path / "work" / "deep"
    inner.mkdir(parents=True)
    assert project_root(inner) == inner
    (tmp_path / "work" / ".git").write_text("gitdir: elsewhere")
    assert project_root(inner) == tmp_path / "work"
