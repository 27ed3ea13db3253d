"""Which provider and which model a real process asks, seen from the servers, with keys and files as people have."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Done, smith
from tests.e2e.internet import Internet, internet
from tests.e2e.world import World
from tests.e2e.written_model import WrittenModel, answering, anthropic, openai

ROUTER, OPENAI, ANTHROPIC = (f"{name}_API_KEY" for name in ("OPENROUTER", "OPENAI", "ANTHROPIC"))
QWEN, LUNA, SONNET = "qwen/qwen3.8-max", "gpt-5.6-luna", "claude-sonnet-5"


@pytest.fixture
async def net(world: World, tmp_path: Path) -> AsyncIterator[Internet]:
    async with internet(tmp_path) as made:
        world.environ |= made.environ
        yield made


async def ran(world: World, net: Internet, *words: str) -> Done:
    """What became of a run. An Ollama has a moment to answer, and a busy machine may let it miss that."""
    done = await smith(world, "run", *words, "hi")
    for _ in range(4):
        if net.pulled is None or "No model to talk to" not in done.err:
            break
        done = await smith(world, "run", *words, "hi")
    return done


async def asked(world: World, net: Internet, *words: str) -> tuple[str, str]:
    """The host and the model of the one request that a run makes."""
    done = await ran(world, net, *words)
    assert (done.code, done.out) == (0, "Yes.\n"), done.err
    (request,) = net.prompts
    return request.host, request.body["model"]


PROVIDERS: dict[str, tuple[list[str], dict[str, str], str, tuple[str, ...], tuple[str, str]]] = {
    "one key and no file": ([ROUTER], {}, "", (), ("openrouter.ai", QWEN)),
    "the key of another": ([OPENAI], {}, "", (), ("api.openai.com", LUNA)),
    "Anthropic's key": ([ANTHROPIC], {}, "", (), ("api.anthropic.com", SONNET)),
    "Anthropic's key before OpenAI's": ([OPENAI, ANTHROPIC], {}, "", (), ("api.anthropic.com", SONNET)),
    "three keys": ([ANTHROPIC, OPENAI, ROUTER], {}, "", (), ("openrouter.ai", QWEN)),
    "two keys": ([OPENAI, ROUTER], {}, "", (), ("openrouter.ai", QWEN)),
    "variable": ([ROUTER, OPENAI], {"SMITH_PROVIDER": "openai"}, "", (), ("api.openai.com", LUNA)),
    "file": ([ROUTER, OPENAI], {}, '[defaults]\nprovider = "openai"\n', (), ("api.openai.com", LUNA)),
    "variable over file": (
        [ROUTER, OPENAI],
        {"SMITH_PROVIDER": "openrouter"},
        '[defaults]\nprovider = "openai"\n',
        (),
        ("openrouter.ai", QWEN),
    ),
    "flag over variable": (
        [ROUTER, OPENAI],
        {"SMITH_PROVIDER": "openrouter"},
        "",
        ("-p", "openai"),
        ("api.openai.com", LUNA),
    ),
    "an address over keys": (
        [ROUTER, OPENAI],
        {},
        '[llm_config]\napi_url = "{url}/v1"\nmodel = "mine"\n',
        (),
        ("", "mine"),
    ),
    "a key over an Ollama": ([OPENAI], {"pulled": "gemma4:latest"}, "", (), ("api.openai.com", LUNA)),
    "an Ollama": ([], {"pulled": "gemma4:latest"}, "", (), ("", "gemma4:latest")),
    "an Ollama without its default": ([], {"pulled": "first:8b second:8b"}, "", (), ("", "first:8b")),
    "an Ollama with a model that was set": (
        [],
        {"pulled": "first:8b second:8b"},
        '[providers.ollama]\nmodel = "second:8b"\n',
        (),
        ("", "second:8b"),
    ),
}


@pytest.mark.parametrize(("keys", "variables", "file", "words", "expected"), PROVIDERS.values(), ids=PROVIDERS)
async def test_the_provider_is_the_first_that_somebody_named_or_that_there_is(
    world: World,
    net: Internet,
    keys: list[str],
    variables: dict[str, str],
    file: str,
    words: tuple[str, ...],
    expected: tuple[str, str],
) -> None:
    world.environ |= dict.fromkeys(keys, "sk-test-0123456789")
    world.environ |= {name: value for name, value in variables.items() if name != "pulled"}
    net.pulled = variables["pulled"].split() if "pulled" in variables else None
    if file:
        world.settings(file.replace("{url}", net.url))

    assert await asked(world, net, *words) == expected


LAYERS = [
    ("what is built in", "", {}, (), QWEN),
    ("the setting of the provider", '[providers.openrouter]\nmodel = "m7"\n', {}, (), "m7"),
    ("SMITH_MODEL in its place", '[providers.openrouter]\nmodel = "m7"\n', {"SMITH_MODEL": "env"}, (), "env"),
    ("default_model", 'default_model = "m6"\n', {"SMITH_MODEL": "env"}, (), "m6"),
    ("models.default", 'default_model = "m6"\nmodels = {default = "m5"}\n', {}, (), "m5"),
    ("models by role", 'models = {default = "m5", direct = "m4", worker = "w"}\n', {}, (), "m4"),
    ("the flag", 'models = {default = "m5", direct = "m4"}\n', {"SMITH_MODEL": "env"}, ("-m", "m1"), "m1"),
]


@pytest.mark.parametrize(
    ("file", "variables", "words", "model"), [each[1:] for each in LAYERS], ids=[x[0] for x in LAYERS]
)
async def test_the_model_is_the_most_special_one_that_was_set(
    world: World, net: Internet, file: str, variables: dict[str, str], words: tuple[str, ...], model: str
) -> None:
    world.environ |= {ROUTER: "sk-test-0123456789", **variables}
    if file:
        world.settings(file)

    assert await asked(world, net, *words) == ("openrouter.ai", model)


@pytest.mark.parametrize(
    ("file", "variables"),
    [
        ('default_model = "qwen/other"\n', {}),
        ('models = {direct = "qwen/other"}\n', {}),
        ('[providers.openrouter]\nmodel = "qwen/other"\n', {}),
        ("", {"SMITH_MODEL": "qwen/other"}),
    ],
    ids=["default_model", "models", "the other's setting", "SMITH_MODEL"],
)
async def test_a_model_is_never_sent_to_a_provider_that_it_was_not_set_for(
    world: World, net: Internet, file: str, variables: dict[str, str]
) -> None:
    world.environ |= {ROUTER: "sk-test-0123456789", OPENAI: "sk-test-9876543210", **variables}
    if file:
        world.settings(file)

    assert await asked(world, net, "-p", "openai") == ("api.openai.com", LUNA)


async def test_a_model_that_was_chosen_for_a_conversation_stays_with_its_provider(world: World, net: Internet) -> None:
    world.environ |= {ROUTER: "sk-test-0123456789", OPENAI: "sk-test-9876543210"}
    await smith(world, "run", "hi")
    await smith(world, "run", "-c", "/model mine")

    for words in (("-c",), ("-c", "-p", "openai"), ("-c", "-m", "other")):
        await smith(world, "run", *words, "hi")

    assert [request.body["model"] for request in net.prompts] == [QWEN, "mine", LUNA, "other"]


async def test_the_flag_names_the_model_of_the_prompt_and_not_that_of_its_children(world: World, net: Internet) -> None:
    world.environ[ROUTER] = "sk-test-0123456789"
    call = {"id": "c1", "function": {"name": "dispatch", "arguments": json.dumps({"role": "explorer", "task": "look"})}}
    report = {
        "id": "c2",
        "function": {"name": "report", "arguments": json.dumps({"status": "done", "summary": "seen"})},
    }
    net.replies = [calling(call), calling(report)]

    done = await smith(world, "run", "-m", "mine", "hi")

    models = [request.body["model"] for request in net.prompts]
    assert (done.code, models[0], models[-1]) == (0, "mine", "mine")
    assert set(models[1:-1]) == {QWEN}


def calling(call: dict[str, Any]) -> dict[str, Any]:
    delta = {"tool_calls": [{"index": 0, "type": "function", **call}]}
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]}


async def test_a_choice_that_came_from_a_key_is_told_with_its_reason(world: World, net: Internet) -> None:
    world.environ[ROUTER] = "sk-test-0123456789"

    done = await smith(world, "run", "hi")

    assert f"Using {QWEN} of openrouter: {ROUTER} is in the environment." in done.err


async def test_a_default_that_was_not_pulled_is_told_once(world: World, net: Internet) -> None:
    net.pulled = ["first:8b"]

    done = await ran(world, net)

    assert done.err.count("gemma4:latest was not pulled") == 1


@pytest.mark.parametrize("offered", [["only"], ["one", "two"], []], ids=["one", "two", "none"])
async def test_without_a_name_only_the_single_model_of_a_server_is_used(
    world: World, net: Internet, offered: list[str]
) -> None:
    world.settings(f'[llm_config]\napi_url = "{net.url}/v1"\n')
    net.models = [{"id": name} for name in offered]

    done = await smith(world, "run", "hi")

    if offered == ["only"]:
        assert (done.code, net.prompts[0].body["model"]) == (0, "only")
    else:
        assert (done.code, net.prompts) == (1, [])
        assert "`providers.custom.model` or `default_model`" in done.err
        assert str(world.home / "smith" / "config.toml") in done.err


async def test_with_nothing_to_talk_to_the_ways_to_get_something_are_listed(world: World, net: Internet) -> None:
    done = await smith(world, "run", "hi")

    assert (done.code, net.prompts) == (1, [])
    for way in (ROUTER, OPENAI, "ollama serve", "llm_config.api_url", "config.toml"):
        assert way in done.err


async def test_the_window_that_a_server_tells_of_holds_from_the_next_run_on(world: World, net: Internet) -> None:
    world.settings(f'[llm_config]\napi_url = "{net.url}/v1"\nmodel = "mine"\n')
    net.models = [{"id": "mine", "context_length": 500}]
    # What a server says of its models is asked beside the answer, which real ones take longer for.
    net.thinks = 1.0

    first = await smith(world, "run", "hi")
    second = await smith(world, "run", "hi")

    assert (first.code, second.code) == (0, 1)
    assert "The context is full" in second.err and "of 500 tokens" in second.err


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"form": 9, "places": {}}'], ids=["empty", "torn", "of another version"]
)
async def test_a_damaged_list_of_models_is_no_matter(world: World, net: Internet, content: bytes) -> None:
    world.environ[ROUTER] = "sk-test-0123456789"
    folder = world.home / "smith" / "cache"
    folder.mkdir(parents=True)
    (folder / "models.json").write_bytes(content)

    assert await asked(world, net) == ("openrouter.ai", QWEN)


LIMITS: dict[str, tuple[Any, dict[str, Any]]] = {
    "anthropic": (anthropic, {"max_tokens": 5000, "temperature": 0.25}),
    "openai": (openai, {"max_completion_tokens": 5000, "temperature": 0.25}),
    "custom": (openai, {"max_tokens": 5000, "temperature": 0.25}),
}


@pytest.mark.parametrize(("name", "answer", "sent"), [(name, *rest) for name, rest in LIMITS.items()], ids=LIMITS)
async def test_output_limit_and_temperature_of_a_model_are_sent(
    world: World, name: str, answer: Any, sent: dict[str, Any]
) -> None:
    model = WrittenModel(answer("Fine."))
    own = f'temperature = 0.25\n[providers.{name}.models."claude-sonnet-5"]\nmax_output_tokens = 5000\n'
    async with answering(world, name, model, own):
        assert (await smith(world, "run", "-p", name, "go")).code == 0
    (body,) = model.bodies
    assert {key: body[key] for key in sent} == sent


async def test_a_model_that_its_provider_does_not_offer_is_refused_with_those_that_are_near(
    world: World, net: Internet
) -> None:
    world.environ[ROUTER] = "sk-test-0123456789"
    net.models = [{"id": "qwen/qwen3.8-max"}, {"id": "qwen/qwen3.8-mini"}, {"id": "z/other"}]
    assert (await smith(world, "models")).code == 0

    refused = await smith(world, "run", "/model qwen/qwen3.8-maxi")
    assert "openrouter offers no model qwen/qwen3.8-maxi. Did you mean qwen/qwen3.8-max, qwen/qwen3.8-mini?" in (
        refused.err
    )
    for name in ("z/other", "z/other:free"):
        taken = await smith(world, "run", f"/model {name}")
        assert f"The model is {name} from the next request on." in taken.out
    shown = await smith(world, "run", "/model")
    assert "openrouter offers qwen/qwen3.8-max, qwen/qwen3.8-mini, z/other." in shown.out
    assert "/model NAME takes another one" in shown.out


async def test_a_model_of_a_provider_that_was_never_asked_is_taken_with_a_doubt(world: World, net: Internet) -> None:
    world.environ[ANTHROPIC] = "sk-test-0123456789"
    done = await smith(world, "run", "/model claude-sonnet-55")
    assert (
        "The model is claude-sonnet-55 from the next request on. anthropic is not known to offer a model " in done.out
    )
    assert "Did you mean claude-sonnet-5" in done.out


async def test_a_list_without_models_says_why(world: World, net: Internet) -> None:
    world.environ["SMITH_PROVIDER"] = "ollama"
    net.pulled = []
    done = await smith(world, "models")
    assert (done.code, done.out) == (0, "none: this Ollama has no model yet. `ollama pull NAME` brings one.\n")
