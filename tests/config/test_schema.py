import json
import math
from typing import Any

import msgspec
import pytest

from smith_server.config.keys import ANY_NAME, Key, all_keys, defaults
from smith_server.config.overrides import valid
from smith_server.config.schema import Settings
from smith_server.config.schema.waiting import NO_EFFECT_YET
from smith_server.config.values import BadValue, checked, wanted
from smith_server.core.errors import AgentFailure
from tests.config.sources import Scratch, value

KEYS = {key.dotted: key for key in all_keys()}
NUMBERS = [key for key in KEYS.values() if key.kind in (int, float)]


def accepted(dotted: str, given: Any) -> bool:
    try:
        checked(KEYS[dotted], given)
    except BadValue:
        return False
    return True


def test_the_defaults_of_the_loader_are_the_documented_ones(scratch: Scratch) -> None:
    documented = {
        "index_file": "INDEX.md",
        "llm_config.api_key_env": "LLM_API_KEY",
        "llm_config.retry_max_retries": 2,
        "llm_config.retry_backoff_ms": [2000, 8000],
        "llm_config.stream_retry_after_output": False,
        "empty_response_retry_max_retries": 2,
        "empty_response_retry_backoff_ms": [500, 1000],
        "context_management.enabled": True,
        "context_management.tool_output_keep_rounds": 7,
        "context_management.tool_output_elide_over_chars": 1024,
        "context_management.trim_threshold_pct": 80,
    }
    loaded = scratch.load()
    assert {name: value(loaded, name) for name in documented} == documented


def test_the_defaults_of_the_harness_are_the_documented_ones(scratch: Scratch) -> None:
    documented = {
        "defaults.stream": True,
        "defaults.mode": "normal",
        "defaults.thinking": False,
        "providers.ollama.host": "http://localhost:11434",
        "providers.anthropic.cache": True,
        "providers.anthropic.thinking_effort": "medium",
        "providers.openai.reasoning_effort": "none",
        "approval.mode": "prompt",
        "approval.allow": [],
        "approval.ask": [],
        "approval.deny": [],
        "mentions.max_lines": 2000,
        "mentions.max_total_bytes": 262144,
        "mentions.allow_outside": False,
        "subagents.max_depth": 3,
        "subagents.max_children": 20,
        "subagents.max_parallel": 4,
        "web.allow_private": False,
        "web.max_bytes": 262144,
        "web.search_provider": "auto",
        "bash.timeout": 120,
        "bash.max_background_jobs": 10,
        "bash.max_output_bytes": 262144,
        "checkpoints.enabled": True,
        "checkpoints.max_per_session": 100,
        "checkpoints.retention_days": 30,
        "mcp.enabled": True,
        "mcp.timeout": 60,
    }
    loaded = scratch.load()
    assert {name: value(loaded, name) for name in documented} == documented


def test_the_defaults_of_what_is_new_are_the_documented_ones(scratch: Scratch) -> None:
    loaded = scratch.load()
    documented = {
        "editor.review": "hunks",
        "editor.rebase": False,
        "editor.save_before_run": "agent",
        "terminal.resume": "new",
        "terminal.rain": True,
        "terminal.theme": "auto",
        "sandbox.enabled": False,
        "sandbox.network": False,
        "context_management.compact_to": 0.5,
        "context_management.elide_step": 4,
        "context_management.elide_min_gain_pct": 5,
        "context_management.summarize": True,
        "max_requests": 500,
        "approval.protected": [
            "**/.git/**",
            "**/.smith/**",
            "**/SMITH.md",
            "**/AGENTS.md",
            "**/.mcp.json",
            f"{scratch.home}/**",
        ],
    }
    assert {name: value(loaded, name) for name in documented} == documented


def test_the_role_and_the_five_time_limits_are_not_among_the_effective_settings_until_set(scratch: Scratch) -> None:
    names = ["timeout", "connect_timeout", "send_timeout", "recv_timeout", "stream_stall_timeout"]
    names = ["active_role", *(f"llm_config.{name}" for name in names)]
    loaded = scratch.load()
    assert [name for name in names if value(loaded, name) is not None] == []
    scratch.own.write_text(
        'active_role = "orchestrator"\n[llm_config]\n' + "\n".join(f"{n[11:]} = 7" for n in names[1:])
    )
    loaded = scratch.load()
    assert [value(loaded, name) for name in names] == ["orchestrator", 7, 7, 7, 7, 7]


def test_what_has_no_default_is_absent_from_the_effective_settings(scratch: Scratch) -> None:
    loaded = scratch.load()
    names = ["default_model", "models", "tool_step_budget", "services", "llm_config.api_url"]
    names += ["context_management.max_tokens", "providers.openai.base_url", "hooks", "pricing", "web.searxng_host"]
    assert [name for name in names if value(loaded, name) is not None] == []


@pytest.mark.parametrize(
    ("dotted", "good", "bad"),
    [
        ("default_model", ["m", "openrouter/x/y-27b"], ["", 3, True, ["m"], {}]),
        (
            "index_file",
            ["INDEX.md", "docs/INDEX.md", "a..b", "./x", "..a/b"],
            ["", "/etc/passwd", "../x", "a/../b", "..", "C:/x", "c:x", "a\\b", "a\0b", 3],
        ),
        ("active_role", ["direct", "orchestrator"], ["worker", "explorer", "", "smith", 1]),
        ("tool_step_budget", [1, 10**6], [0, -1, 2.5, 2.0, True, "3"]),
        ("models.*", ["m"], ["", 3, None]),
        ("llm_config.api_key_env", ["K"], ["", 3]),
        ("llm_config.api_url", ["http://127.0.0.1:8080/v1"], ["", 3]),
        ("llm_config.retry_max_retries", [0, 2], [-1, 0.5, True, "2"]),
        ("llm_config.retry_backoff_ms", [[0], [2000, 8000.5]], [[], 2000, [-1], [True], ["1"], [math.nan]]),
        ("llm_config.stream_retry_after_output", [True, False], [0, 1, "true"]),
        ("llm_config.timeout", [0.1, 600], [0, -1, True, "60", math.inf]),
        ("llm_config.connect_timeout", [0.1, 10], [0, True]),
        ("llm_config.send_timeout", [0.1, 30], [0, True]),
        ("llm_config.recv_timeout", [0.1, 0.5], [0, True]),
        ("llm_config.stream_stall_timeout", [0.1, 300], [0, True]),
        ("empty_response_retry_max_retries", [0, 2], [-1, 1.5, True]),
        ("empty_response_retry_backoff_ms", [[500, 1000], [0]], [[], 500]),
        ("context_management.enabled", [True, False], [1, "yes"]),
        ("context_management.tool_output_keep_rounds", [0, 7], [-1, True, 1.5]),
        ("context_management.tool_output_elide_over_chars", [0, 1024], [-1, True]),
        ("context_management.trim_threshold_pct", [0.5, 80, 100], [0, 100.5, -1, True]),
        ("context_management.compact_to", [0.1, 1], [0, 1.5]),
        ("bash.max_background_jobs", [1, 10], [0, 2**40]),
        ("mcp.timeout", [0.5], [0, -1]),
        ("providers.openai.temperature", [0, 2], [-0.1, 2.1, math.nan]),
        ("providers.anthropic.thinking_budget", [1024], [0, 1023]),
        ("approval.mode", ["auto", " AUTO ", "Prompt"], ["never", True, ""]),
        ("defaults.mode", ["plan", " PLAN "], ["look", 1]),
        ("defaults.provider", ["openai", "OpenAI", ""], ["elsewhere"]),
    ],
)
def test_a_setting_takes_what_is_documented_and_nothing_else(dotted: str, good: list[Any], bad: list[Any]) -> None:
    assert [given for given in good if not accepted(dotted, given)] == []
    assert [given for given in bad if accepted(dotted, given)] == []


@pytest.mark.parametrize("key", NUMBERS, ids=lambda key: key.dotted)
def test_no_number_takes_a_boolean_a_text_or_what_is_beyond_every_clock(key: Key) -> None:
    odd = [True, False, math.nan, math.inf, -math.inf, "5", 10**30, 10**400, -1, [1]]
    assert [given for given in odd if accepted(key.dotted, given)] == []


def test_every_default_passes_its_own_check() -> None:
    for key in KEYS.values():
        if ANY_NAME not in key.path and key.default not in (None, "", ()):
            default = list(key.default) if isinstance(key.default, tuple) else key.default
            assert checked(key, default) == default


def test_the_tree_of_defaults_gives_the_default_settings() -> None:
    assert msgspec.convert(defaults(), Settings) == Settings()


def test_every_setting_has_a_sentence_and_says_what_it_takes() -> None:
    for key in KEYS.values():
        assert key.sentence.endswith("."), key.dotted
        assert wanted(key)


def test_an_error_is_a_schema_failure_that_names_the_path() -> None:
    with pytest.raises(AgentFailure) as caught:
        valid("context_management.trim_threshold_pct", 0)
    error = caught.value.error
    assert (error.kind, error.code) == ("schema", "invalid_setting")
    assert error.message == "`context_management.trim_threshold_pct` must be a number above 0 up to 100, not 0."


@pytest.mark.parametrize(
    ("dotted", "given", "told"),
    [
        ("max_requests", True, "must be a whole number from 1, not true"),
        ("max_requests", 10**30, "must be a whole number from 1, not a number of that size"),
        ("bash.timeout", math.nan, "must be a number above 0 up to 3600, not nan"),
        ("approval.mode", "never", 'must be one of "prompt", "auto", not "never"'),
        ("index_file", "../x", "must be a path below the project, with `/` and without `..`, not this text"),
        (
            "llm_config.retry_backoff_ms",
            [],
            "must be a list with at least one member, each a number from 0, not this list",
        ),
        ("bash.timeout", {}, "must be a number above 0 up to 3600, not a table"),
        ("web.allow_private", [1], "must be true or false, not a list"),
    ],
)
def test_an_error_says_what_is_wanted_and_what_is_there(dotted: str, given: Any, told: str) -> None:
    with pytest.raises(BadValue) as caught:
        checked(KEYS[dotted], given)
    assert str(caught.value) == told


def test_address_headers_temperature_and_output_limit_can_be_set_for_every_provider(scratch: Scratch) -> None:
    own = {"base_url": "http://h/v1", "headers": {"X": "y"}, "temperature": 0.5, "max_output_tokens": 9}
    scratch.flags = {"providers": dict.fromkeys(Settings().providers.__struct_fields__, own)}
    providers = scratch.load().settings.providers
    found = [getattr(providers, name) for name in providers.__struct_fields__]
    assert [{name: getattr(each, name) for name in own} for each in found] == [own] * 7


def test_an_error_never_repeats_a_text_that_could_be_a_secret() -> None:
    with pytest.raises(BadValue) as caught:
        checked(KEYS["max_requests"], "sk-1234567890")
    assert str(caught.value) == "must be a whole number from 1, not a text"


def test_settings_and_their_tree_encode_as_json(scratch: Scratch) -> None:
    scratch.own.write_text(
        '[models]\nworker = "m"\n[services.ui]\na = {b = [1, {c = 2}]}\n[[hooks.stop]]\ncommand = "x"\n'
    )
    loaded = scratch.load()
    decoded = msgspec.json.decode(msgspec.json.encode(loaded.settings), type=Settings)
    assert decoded == loaded.settings
    assert json.loads(json.dumps(loaded.tree))["services"]["ui"] == {"a": {"b": [1, {"c": 2}]}}


def test_what_is_said_to_have_no_effect_is_in_the_schema() -> None:
    known = {".".join(key.path[:length]) for key in KEYS.values() for length in range(1, len(key.path) + 1)}
    patterns = {name.replace("providers.*", "providers.openai") for name in NO_EFFECT_YET}
    assert patterns - known == set()
