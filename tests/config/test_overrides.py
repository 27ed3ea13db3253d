from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.config import overrides
from smith_server.config.freeze import thaw
from smith_server.config.layers import PATCH
from smith_server.config.trees import get, leaves
from smith_server.core.errors import AgentFailure
from tests.config.sources import Scratch, value

DOCUMENTED = [
    "default_model",
    "index_file",
    "active_role",
    "tool_step_budget",
    "models.default",
    "models.gpt-4.1",
    "llm_config.api_key_env",
    "llm_config.api_url",
    "llm_config.retry_max_retries",
    "llm_config.retry_backoff_ms",
    "llm_config.stream_retry_after_output",
    "llm_config.timeout",
    "llm_config.connect_timeout",
    "llm_config.send_timeout",
    "llm_config.recv_timeout",
    "llm_config.stream_stall_timeout",
    "context_management.enabled",
    "context_management.tool_output_keep_rounds",
    "context_management.tool_output_elide_over_chars",
    "context_management.trim_threshold_pct",
    "context_management.max_tokens",
    "context_management.compact_to",
    "context_management.elide_step",
    "context_management.elide_min_gain_pct",
    "context_management.summarize",
    "empty_response_retry_max_retries",
    "empty_response_retry_backoff_ms",
]
REFUSED = [
    "",
    "models",
    "models.",
    "models. ",
    "llm_config",
    "context_management",
    "services",
    "services.ui.a",
    "nothing",
]
REFUSED += [
    "approval.mode",
    "providers.openai.base_url",
    "llm_config.other",
    "default_model.x",
    "max_requests",
    "hooks.stop",
]


@pytest.mark.parametrize("path", DOCUMENTED)
def test_what_is_documented_may_be_overridden(path: str) -> None:
    assert overrides.is_overridable_path(path)


@pytest.mark.parametrize("path", REFUSED)
def test_everything_else_may_not_whole_tables_and_services_included(path: str) -> None:
    assert not overrides.is_overridable_path(path)
    with pytest.raises(AgentFailure) as caught:
        overrides.valid(path, 1)
    assert (caught.value.error.kind, caught.value.error.code) == ("schema", "not_overridable")


def test_nothing_besides_the_documented_may_be_overridden() -> None:
    assert set(overrides.OVERRIDABLE) == {path for path in DOCUMENTED if not path.startswith("models.")}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("80", 80),
        ("0.5", 0.5),
        ("false", False),
        ("[2000, 8000]", [2000, 8000]),
        ("openrouter/x/y-27b", "openrouter/x/y-27b"),
        ('"80"', "80"),
        ("null", None),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("1e", "1e"),
        ("a b  c", "a b  c"),
        ("[" * 100_000, "[" * 100_000),
        ("9" * 5000, "9" * 5000),
    ],
    ids=lambda given: repr(given)[:20],
)
def test_a_typed_value_is_json_where_it_is_json_and_else_the_text(text: str, meant: Any) -> None:
    assert overrides.typed(text) == meant


@pytest.mark.parametrize(
    ("path", "text", "kept"),
    [
        ("tool_step_budget", "3", 3),
        ("context_management.trim_threshold_pct", "80", 80),
        ("llm_config.retry_backoff_ms", "[2000,8000]", [2000, 8000]),
        ("default_model", '"123"', "123"),
        ("models.gpt-4.1", "x", "x"),
        ("active_role", "Direct", "direct"),
    ],
)
def test_a_value_is_kept_as_it_was_meant(path: str, text: str, kept: Any) -> None:
    assert overrides.valid(path, overrides.typed(text)) == kept


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tool_step_budget", "0"),
        ("tool_step_budget", "true"),
        ("tool_step_budget", "2.5"),
        ("default_model", "123"),
        ("default_model", "true"),
        ("default_model", "null"),
        ("active_role", "worker"),
        ("index_file", "../x"),
        ("llm_config.timeout", "NaN"),
        ("models.x", "[]"),
    ],
)
def test_a_value_that_fits_not_is_refused_with_its_path(path: str, text: str) -> None:
    with pytest.raises(AgentFailure) as caught:
        overrides.valid(path, overrides.typed(text))
    assert caught.value.error.code == "invalid_setting"
    assert f"`{path}`" in caught.value.error.message


def test_behind_models_everything_is_one_name() -> None:
    patch = overrides.with_value({}, "models.gpt-4.1", "m")
    assert patch == {"models": {"gpt-4.1": "m"}}
    assert dict(overrides.values_of(patch)) == {"models.gpt-4.1": "m"}
    assert overrides.without(patch, "models.gpt-4.1") == {}


def test_unsetting_takes_the_tables_away_that_are_empty_then_and_no_others() -> None:
    patch = {"llm_config": {"timeout": 3}, "models": {"a": "x", "b": "y"}, "default_model": "m"}
    before = thaw(patch)
    assert overrides.without(patch, "llm_config.timeout") == {"models": {"a": "x", "b": "y"}, "default_model": "m"}
    assert overrides.without(patch, "models.a") == {
        "llm_config": {"timeout": 3},
        "models": {"b": "y"},
        "default_model": "m",
    }
    assert overrides.without(patch, "default_model") == {"llm_config": {"timeout": 3}, "models": {"a": "x", "b": "y"}}
    assert overrides.without(patch, "tool_step_budget") == patch == before


@given(st.lists(st.tuples(st.sampled_from(DOCUMENTED), st.booleans(), st.integers(1, 9))))
def test_a_patch_is_always_what_was_set_and_not_unset_since(steps: list[tuple[str, bool, int]]) -> None:
    patch: dict[str, Any] = {}
    held: dict[str, int] = {}
    for path, sets, number in steps:
        patch = overrides.with_value(patch, path, number) if sets else overrides.without(patch, path)
        held = {**held, path: number} if sets else {other: kept for other, kept in held.items() if other != path}
    assert dict(overrides.values_of(patch)) == held
    assert all(get(patch, path) for path, _ in leaves(patch))


def test_a_patch_of_the_early_shape_is_ignored_told_and_replaced_by_the_next_one(scratch: Scratch) -> None:
    scratch.patch = {"entries": [{"path": "default_model", "value": "m"}]}
    loaded = scratch.load()
    assert (value(loaded, "default_model"), len(loaded.problems), loaded.unsafe) == (None, 1, False)
    assert overrides.with_value(scratch.patch, "default_model", "n") == {"default_model": "n"}


def test_what_may_not_be_overridden_is_not_taken_from_a_patch_either(scratch: Scratch) -> None:
    scratch.patch = {"approval": {"mode": "auto", "deny": ["x"]}, "default_model": "m"}
    loaded = scratch.load()
    assert (loaded.settings.approval.mode, loaded.settings.default_model) == ("prompt", "m")
    assert scratch.told() == ["approval.mode", "approval.deny"]


@pytest.mark.parametrize(
    ("path", "flags", "patch", "told"),
    [
        ("default_model", {}, {"default_model": "m"}, []),
        (
            "default_model",
            {},
            {"default_model": "m", "models": {"default": "n"}},
            ["`models.default` is set too and goes before it."],
        ),
        (
            "default_model",
            {"active_role": "orchestrator"},
            {"default_model": "m", "models": {"orchestrator": "n", "direct": "o"}},
            ["`models.orchestrator` is set too and goes before it."],
        ),
        (
            "models.default",
            {},
            {"models": {"default": "m", "direct": "n"}},
            ["`models.direct` is set too and goes before it."],
        ),
        (
            "default_model",
            {"default_model": "flag"},
            {"default_model": "m"},
            ["`default_model` is also set by command line, and that holds."],
        ),
        ("models.worker", {}, {"models": {"worker": "m", "default": "n"}, "default_model": "o"}, []),
    ],
)
def test_an_override_without_effect_is_told(
    scratch: Scratch, path: str, flags: dict[str, Any], patch: dict[str, Any], told: list[str]
) -> None:
    scratch.flags, scratch.patch = flags, patch
    assert list(overrides.shadows(path, PATCH, scratch.load())) == told
