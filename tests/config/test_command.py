import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from smith_server.config.layers import Loaded
from smith_server.core.errors import AgentFailure
from smith_server.runtime.commands.config import candidates, config
from smith_server.runtime.commands.result import Result
from tests.config.sources import Scratch


class Home:
    """Holds settings and patch, as the services of a process do, and stands for the conversation too."""

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch
        self.root: Path = scratch.project
        self.busy = False
        self.written = 0
        self.file: Path = scratch.own

    def loaded(self, root: Path) -> Loaded:
        return self.scratch.load()

    async def overrides(self) -> Mapping[str, Any]:
        return self.scratch.patch

    async def override(self, patch: Mapping[str, Any]) -> None:
        self.written += 1
        self.scratch.patch = dict(patch)

    async def run(self, rest: str) -> Result:
        return await config(rest, self, self)


@pytest.fixture
def home(scratch: Scratch) -> Home:
    return Home(scratch)


async def test_it_shows_every_effective_value_with_its_origin_and_the_overrides(home: Home) -> None:
    home.scratch.own.write_text("[bash]\ntimeout = 60\nnonsense = 1\n")
    home.scratch.flags = {"defaults": {"provider": "openai"}}
    home.scratch.patch = {"models": {"gpt-4.1": "m"}}
    shown = await home.run("")
    by = {part.partition("\n")[0]: part.splitlines()[1:] for part in shown.page.split("\n\n")}
    assert by[f"# From {home.scratch.own}"] == ["bash.timeout = 60"]
    assert by["# From command line"] == ['defaults.provider = "openai"']
    assert by["# From /config set"] == ['models.gpt-4.1 = "m"']
    assert "max_requests = 500" in by["# Defaults"]
    assert "llm_config.timeout" not in shown.page
    assert "bash.nonsense" in by["# What is wrong with the settings:"][0]
    assert shown.data["overrides"] == {"models.gpt-4.1": "m"}
    assert shown.data["settings"]["bash.timeout"] == 60
    assert (shown.text, shown.title, shown.format) == ("", "Settings", "toml")


async def test_what_was_set_and_does_not_hold_is_shown_with_what_holds(home: Home) -> None:
    home.scratch.flags = {"tool_step_budget": 5}
    home.scratch.patch = {"tool_step_budget": 9}
    page = (await home.run("")).page
    assert "# tool_step_budget = 9: `tool_step_budget` is also set by command line, and that holds." in page
    assert "# From command line\ntool_step_budget = 5\n" in page


async def test_it_is_toml_of_narrow_lines(home: Home) -> None:
    home.scratch.own.write_text('[approval]\ndeny = ["bash(rm *)", "bash(git push *)", "read(**/secrets/**)"]\n')
    page = (await home.run("")).page
    assert [line for line in page.splitlines() if len(line) > 60 and str(home.scratch.project.parent) not in line] == []
    assert list(tomllib.loads(page)["approval"]["deny"]) == ["bash(rm *)", "bash(git push *)", "read(**/secrets/**)"]


async def test_secrets_are_never_shown(home: Home) -> None:
    home.scratch.own.write_text(
        '[providers.openai]\nbase_url = "https://me:pass-word@host/v1"\napi_key_command = "echo sk-1"\n'
        '[providers.openai.headers]\nAuthorization = "Bearer sk-2"\n[services.ui]\napi_token = "sk-3"\nlist = ["http://a:sk-4@b"]\n'
    )
    whole = await home.run("")
    asked = [
        await home.run(f"get {path}")
        for path in (
            "providers.openai.base_url",
            "providers.openai.api_key_command",
            "providers.openai.headers",
            "providers.openai.headers.Authorization",
            "services",
        )
    ]
    for result in (whole, *asked):
        assert not [
            secret for secret in ("sk-", "pass-word", "me:") if secret in f"{result.text}{result.page}{result.data}"
        ]
    assert asked[0].text == f'providers.openai.base_url = "https://[hidden]@host/v1" ({home.scratch.own})'


async def test_a_secret_that_was_set_at_run_time_is_not_shown_either(home: Home) -> None:
    confirmed = await home.run("set llm_config.api_url http://me:sk-5@host/v1")
    whole = await home.run("")
    assert confirmed.text == 'llm_config.api_url = "http://[hidden]@host/v1", from the next turn on.'
    assert "sk-5" not in f"{confirmed.data}{whole.page}{whole.data}"
    assert home.scratch.patch == {"llm_config": {"api_url": "http://me:sk-5@host/v1"}}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("max_requests", "max_requests = 500 (default)"),
        ("tool_step_budget", "tool_step_budget is not set."),
        ("llm_config.timeout", "llm_config.timeout is not set. 600 holds."),
        ("context.compact_at", "context_management.trim_threshold_pct = 80 (default)"),
        ("models.gpt-4.1", 'models.gpt-4.1 = "m" (/config set)'),
        ("models.none", "models.none is not set."),
    ],
)
async def test_one_setting_is_shown_with_its_origin(home: Home, path: str, text: str) -> None:
    home.scratch.patch = {"models": {"gpt-4.1": "m"}}
    assert (await home.run(f"get {path}")).text == text


async def test_a_table_is_shown_row_by_row(home: Home) -> None:
    shown = (await home.run("get sandbox")).text
    assert shown == (
        "sandbox.enabled = false (default; has no effect yet)\nsandbox.network = false (default; has no effect yet)"
    )


async def test_a_setting_that_is_not_there_is_an_error(home: Home) -> None:
    with pytest.raises(AgentFailure) as caught:
        await home.run("get nothing.here")
    assert (caught.value.error.kind, caught.value.error.code) == ("schema", "unknown_setting")


async def test_a_value_that_is_set_holds_from_then_on_and_is_confirmed_as_it_was_typed(home: Home) -> None:
    result = await home.run("set  llm_config.retry_backoff_ms   [2000, 8000]")
    assert result.text.splitlines()[0] == "llm_config.retry_backoff_ms = [2000, 8000], from the next turn on."
    assert home.scratch.patch == {"llm_config": {"retry_backoff_ms": [2000, 8000]}}
    assert home.loaded(home.root).settings.llm_config.retry_backoff_ms == (2000, 8000)


async def test_the_value_is_the_rest_of_the_line_as_it_stands(home: Home) -> None:
    await home.run("set\tmodels.x\topenrouter/a  b ")
    assert home.scratch.patch == {"models": {"x": "openrouter/a  b"}}


async def test_what_a_turn_already_sees_does_not_change(home: Home) -> None:
    seen = home.loaded(home.root).settings
    await home.run("set default_model new")
    assert (seen.default_model, home.loaded(home.root).settings.default_model) == ("", "new")


@pytest.mark.parametrize(
    ("rest", "code"),
    [
        ("set tool_step_budget 0", "invalid_setting"),
        ("set approval.mode auto", "not_overridable"),
        ("set llm_config {}", "not_overridable"),
        ("set services.ui.a 1", "not_overridable"),
        ("unset approval.mode", "not_overridable"),
        ("set default_model", "invalid_arguments"),
        ("unset default_model now", "invalid_arguments"),
        ("get", "invalid_arguments"),
        ("get default_model now", "invalid_arguments"),
        ("delete default_model", "invalid_arguments"),
    ],
)
async def test_what_is_refused_writes_nothing(home: Home, rest: str, code: str) -> None:
    home.scratch.patch = {"default_model": "m"}
    with pytest.raises(AgentFailure) as caught:
        await home.run(rest)
    assert (caught.value.error.kind, caught.value.error.code) == ("schema", code)
    assert (home.written, home.scratch.patch) == (0, {"default_model": "m"})


async def test_what_cannot_be_changed_here_names_the_file_and_what_can(home: Home) -> None:
    with pytest.raises(AgentFailure) as caught:
        await home.run("set bash.timeout 5")
    assert caught.value.error.message == (
        f"`bash.timeout` cannot be changed with /config. Set it in {home.scratch.own}. /config changes "
        "default_model, index_file, active_role, tool_step_budget, empty_response_retry_max_retries, "
        "empty_response_retry_backoff_ms, llm_config.*, context_management.* and models.*."
    )


async def test_a_setting_that_nothing_reads_is_marked_wherever_it_is_shown(home: Home) -> None:
    home.scratch.own.write_text('[approval]\nask = ["bash"]\ndeny = ["read"]\n')
    assert (await home.run("get approval.ask")).text == (
        f'approval.ask = ["bash"] ({home.scratch.own}; has no effect yet)'
    )
    assert (await home.run("get approval.deny")).text == f'approval.deny = ["read"] ({home.scratch.own})'
    page = (await home.run("")).page
    assert '# has no effect yet:\napproval.ask = ["bash"]\napproval.deny' in page


@pytest.mark.parametrize("rest", ["set default_model m", "unset default_model"])
async def test_nothing_is_changed_while_a_turn_runs(home: Home, rest: str) -> None:
    home.busy = True
    with pytest.raises(AgentFailure) as caught:
        await home.run(rest)
    assert (caught.value.error.code, home.written) == ("turn_active", 0)
    assert (await home.run("get max_requests")).text == "max_requests = 500 (default)"


async def test_unsetting_prunes_the_patch_and_says_what_holds_now(home: Home) -> None:
    home.scratch.own.write_text("[llm_config]\ntimeout = 9\n")
    home.scratch.patch = {"llm_config": {"timeout": 3}, "models": {"a": "b"}}
    result = await home.run("unset llm_config.timeout")
    assert result.text == f"llm_config.timeout is unset. llm_config.timeout = 9 ({home.scratch.own})"
    assert home.scratch.patch == {"models": {"a": "b"}}


async def test_unsetting_what_is_not_set_is_fine_and_says_so(home: Home) -> None:
    home.scratch.own.write_text('default_model = "m"\n')
    assert (await home.run("unset default_model")).text == "default_model is not set with /config."
    assert home.written == 0


async def test_a_value_that_something_else_goes_before_is_told(home: Home) -> None:
    home.scratch.own.write_text('[models]\ndefault = "mine"\n')
    home.scratch.flags = {"default_model": "flag"}
    lines = (await home.run("set default_model m")).text.splitlines()
    assert lines[1:] == [
        "`default_model` is also set by command line, and that holds.",
        "`models.default` is set too and goes before it.",
    ]


@pytest.mark.parametrize(
    ("words", "some", "none"),
    [
        ([""], ["get", "set", "unset"], []),
        (["s"], ["set"], ["get", "unset"]),
        (["set", ""], ["default_model", "models.default", "models.gpt-4.1"], ["approval.mode", "models"]),
        (
            ["set", "context_management.e"],
            ["context_management.enabled", "context_management.elide_step"],
            ["index_file"],
        ),
        (["get", "approval."], ["approval.mode", "approval.deny"], ["default_model"]),
        (["get", "llm_config.t"], ["llm_config.timeout"], []),
        (["unset", ""], ["models.gpt-4.1"], ["default_model"]),
        (["set", "active_role", ""], ["direct", "orchestrator"], ["worker"]),
        (["set", "context_management.enabled", ""], ["true", "false"], []),
        (["set", "default_model", "q"], ["qwen/a"], ["b"]),
        (["set", "models.x", ""], ["qwen/a", "b"], []),
        (["set", "tool_step_budget", ""], [], ["1"]),
        (["set", "approval.mode", ""], [], ["auto"]),
        (["get", "max_requests", ""], [], ["max_requests"]),
    ],
)
def test_completion_knows_paths_booleans_and_choices(
    home: Home, words: list[str], some: list[str], none: list[str]
) -> None:
    home.scratch.patch = {"models": {"gpt-4.1": "m"}}
    found = candidates(words, home.loaded(home.root), ["qwen/a", "b"], home.scratch.patch)
    assert [each for each in some if each not in found] == []
    assert [each for each in none if each in found] == []
    assert list(found) == sorted(set(found), key=lambda each: (len(each), each))
