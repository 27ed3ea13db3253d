import pytest

from tests.config.sources import Scratch, value


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("[http]\nconnect_timeout = 3", {"llm_config.connect_timeout": 3}),
        ("[http]\nread_timeout = 90", {"llm_config.stream_stall_timeout": 90, "llm_config.timeout": 90}),
        ("[context]\nmax_tokens = 9000", {"context_management.max_tokens": 9000}),
        ("[context]\ncompact_at = 0.57", {"context_management.trim_threshold_pct": 57}),
        ("[context]\ncompact_to = 0.3", {"context_management.compact_to": 0.3}),
        ('[llm_config]\nmodel = "m"', {"providers.custom.model": "m"}),
        ("[tool.web_search]\nmax_results = 3", {"services.tool.web_search.max_results": 3}),
        ("[ui]\na = 1\n[ui.b]\nc = [2]", {"services.ui.a": 1, "services.ui.b.c": [2]}),
    ],
)
def test_a_file_in_the_older_spelling_means_the_same(scratch: Scratch, text: str, held: dict[str, object]) -> None:
    scratch.own.write_text(text)
    loaded = scratch.load()
    assert {name: value(loaded, name) for name in held} == held
    assert loaded.problems == ()
    assert set(loaded.origin) == set(held)


def test_the_pause_between_two_looks_is_no_read_timeout(scratch: Scratch) -> None:
    scratch.own.write_text("[http]\nread_timeout = 90")
    assert scratch.load().settings.llm_config.recv_timeout == 0.5


@pytest.mark.parametrize(
    ("text", "dotted", "held", "told"),
    [
        (
            "[http]\nconnect_timeout = 3\n[llm_config]\nconnect_timeout = 5",
            "llm_config.connect_timeout",
            3,
            "{}:4: `http.connect_timeout` and `llm_config.connect_timeout` mean the same and differ; "
            "`http.connect_timeout` holds",
        ),
        (
            "[llm_config]\ntimeout = 60\nstream_stall_timeout = 90\n[http]\nread_timeout = 90",
            "llm_config.timeout",
            60,
            "{}:5: `llm_config.timeout` and `http.read_timeout` mean the same and differ; `llm_config.timeout` holds",
        ),
        (
            "[context]\ncompact_at = 0.9\n[context_management]\ntrim_threshold_pct = 80",
            "context_management.trim_threshold_pct",
            80,
            "{}:4: `context.compact_at` and `context_management.trim_threshold_pct` mean the same and differ; "
            "`context_management.trim_threshold_pct` holds",
        ),
        (
            '[llm_config]\nmodel = "a"\n[providers.custom]\nmodel = "b"',
            "providers.custom.model",
            "b",
            "{}:4: `llm_config.model` and `providers.custom.model` mean the same and differ; "
            "`providers.custom.model` holds",
        ),
        (
            "[ui]\na = 1\nb = 2\n[services.ui]\na = 3",
            "services.ui",
            {"a": 3},
            "{}:1: `ui` and `services.ui` differ; `services.ui` holds",
        ),
    ],
    ids=["time limit", "one of two", "other unit", "no number", "service"],
)
def test_of_two_spellings_that_differ_the_stricter_holds_and_both_are_named(
    scratch: Scratch, text: str, dotted: str, held: object, told: str
) -> None:
    scratch.own.write_text(text)
    loaded = scratch.load()
    assert value(loaded, dotted) == held
    assert loaded.problems == (told.format(scratch.own),)


def test_two_spellings_that_say_the_same_are_no_trouble(scratch: Scratch) -> None:
    scratch.own.write_text("[context]\ncompact_at = 0.8\n[context_management]\ntrim_threshold_pct = 80\n")
    assert scratch.load().problems == ()


def test_a_higher_layer_goes_before_a_lower_one_in_whatever_spelling(scratch: Scratch) -> None:
    scratch.own.write_text('[llm_config]\ntimeout = 60\n[providers.custom]\nmodel = "a"\n')
    scratch.flags = {"http": {"read_timeout": 500}, "llm_config": {"model": "b"}}
    settings = scratch.load().settings
    assert (settings.llm_config.timeout, settings.llm_config.model, settings.providers.custom.model) == (500, "b", "b")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[http]\nread_timeout = 0", "`http.read_timeout` must be a number above 0, not 0; the default holds"),
        (
            "[context]\ncompact_at = 80",
            "`context.compact_at` must be a number above 0 up to 1, not 80; the default holds",
        ),
        ("[http]\nretries = 3", "there is no setting `http.retries`"),
        ('ui = "dark"', "there is no setting `ui`"),
        ("http = 3", "`http` must be a table, not 3; the default holds"),
    ],
)
def test_an_error_names_the_spelling_that_was_written(scratch: Scratch, text: str, told: str) -> None:
    scratch.own.write_text(text)
    problems = scratch.load().problems
    assert told in problems[0]


def test_only_a_table_counts_as_options_of_a_service(scratch: Scratch) -> None:
    scratch.own.write_text('model = "m"\n')
    loaded = scratch.load()
    assert (value(loaded, "services"), len(loaded.problems)) == (None, 1)


def test_the_older_allowlist_is_rules_behind_those_in_allow_and_said_once(scratch: Scratch) -> None:
    scratch.own.write_text('[approval]\nallow = ["bash(ls)"]\nallowlist = ["git status", " npm test ", ""]\n')
    loaded = scratch.load()
    assert loaded.settings.approval.allow == ("bash(ls)", "bash(git status)", "bash(npm test)")
    assert loaded.problems == (
        f"{scratch.own}: `approval.allowlist` is an older spelling; write its entries as `bash(…)` in `approval.allow`",
    )
    assert not loaded.unsafe


AGENT_SMITH = """{
  "default_model": "qwen/qwen3.8-max",
  "models": {"default": "a", "explorer": "b"},
  "active_role": "orchestrator",
  "index_file": "INDEX.md",
  "tool_step_budget": 40,
  "services": {"tool": {"web_search": {"api_key_env": "LINKUP_API_KEY", "depth": "standard", "timeout": 20}}},
  "llm_config": {"api_url": "http://127.0.0.1:8080/v1", "api_key_env": "K", "timeout": 600, "retry_backoff_ms": [1]},
  "context_management": {"enabled": true, "trim_threshold_pct": 80},
  "empty_response_retry_max_retries": 1
}"""

HARNESS = """
[defaults]
provider = "Anthropic"
stream = true
mode = "plan"
thinking = true
[providers.openrouter]
model = "qwen/qwen3.8-max"
[providers.ollama]
model = "gemma4:latest"
host = "http://localhost:11434"
[providers.anthropic]
model = "claude-sonnet-5"
cache = true
thinking_effort = "high"
thinking_budget = 2048
[providers.openai]
model = "gpt-5.6-luna"
reasoning_effort = "low"
[http]
connect_timeout = 10
read_timeout = 120
[approval]
mode = "prompt"
allow = ["bash(git status)"]
ask = ["bash(git push *)"]
deny = ["read_file(~/.ssh/**)"]
[context]
max_tokens = 120000
compact_at = 0.80
compact_to = 0.50
[mentions]
max_lines = 2000
max_total_bytes = 262144
allow_outside = false
[pricing."anthropic/claude-opus-5"]
input = 5
output = 25.0
cache_write = 6.25
cache_read = 0.5
[subagents]
max_depth = 3
max_children = 20
[web]
allow_private = false
max_bytes = 262144
search_provider = "searxng"
searxng_host = "http://localhost:8888"
[bash]
timeout = 120
max_background_jobs = 10
max_output_bytes = 262144
[checkpoints]
enabled = true
max_per_session = 100
retention_days = 30
[mcp]
enabled = true
timeout = 60
[[hooks.pre_tool_use]]
command = "./check.sh"
matcher = "bash|write_file"
timeout = 10
once = true
[[hooks.stop]]
command = "notify-send done"
"""


@pytest.mark.parametrize(("name", "text"), [("config.json", AGENT_SMITH), ("config.toml", HARNESS)])
def test_a_whole_file_of_either_older_program_is_taken_without_a_word(scratch: Scratch, name: str, text: str) -> None:
    (scratch.home / name).write_text(text)
    loaded = scratch.load()
    assert (loaded.problems, loaded.unsafe) == ((), False)
