import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.core.errors import AgentFailure, failure
from smith_server.llm.catalog import DAY, MOST_PLACES, RETRY_SECONDS, Catalog, Model, place_of
from smith_server.llm.model_facts import facts
from smith_server.llm.presets import PRESETS, Preset

ROUTER, OLLAMA = PRESETS["openrouter"], PRESETS["ollama"]
TOLD = {"a/b": Model(1000, 100), "c/d": Model(2000)}


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


async def told(models: Mapping[str, Model] = TOLD) -> Mapping[str, Model]:
    return models


async def broken() -> Mapping[str, Model]:
    raise failure("transport", "unreachable", "nobody there")


def of(name: str) -> Preset:
    return Preset("custom", f"http://{name}/v1")


async def test_what_is_built_in_is_known_at_once(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)

    assert catalog.look(ROUTER, "qwen/qwen3.8-max").context_window == 256_000
    assert catalog.look(ROUTER, "nobody/knows") == Model()


@pytest.mark.parametrize("name", sorted(name for name in PRESETS if PRESETS[name].default_model and name != "ollama"))
def test_every_built_in_default_has_its_limits(name: str, tmp_path: Path) -> None:
    known = Catalog(tmp_path).look(PRESETS[name], PRESETS[name].default_model)

    assert known.context_window and known.max_output_tokens


async def test_what_a_server_tells_goes_before_what_is_built_in_and_the_person_before_both(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    await catalog.refresh(ROUTER, lambda: told({"qwen/qwen3.8-max": Model(5000)}))
    more = {"openrouter/qwen/qwen3.8-max": {"max_output_tokens": 77}, "openrouter/a/b": {"context_window": "wide"}}

    known = catalog.look(ROUTER, "qwen/qwen3.8-max", more)

    assert (known.context_window, known.max_output_tokens) == (5000, 77)
    assert catalog.look(ROUTER, "a/b", more) == Model()


@pytest.mark.parametrize("name", ["a/b:free", "a/b-20260801", "a/b-2026-08-01"])
async def test_a_variant_or_a_dated_version_has_the_limits_of_its_model(name: str, tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    await catalog.refresh(ROUTER, told)

    assert catalog.look(ROUTER, name) == Model(1000, 100)


async def test_a_later_process_knows_what_was_told(tmp_path: Path) -> None:
    first, later = Catalog(tmp_path / "deep"), Catalog(tmp_path / "deep")
    await first.refresh(ROUTER, told)
    await later.load()

    assert (later.look(ROUTER, "a/b"), later.names(ROUTER)) == (Model(1000, 100), ("a/b", "c/d"))
    assert not later.is_wanting(ROUTER, "a/b")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["models.json"]
    assert stat.S_IMODE((tmp_path / "deep" / "models.json").stat().st_mode) == 0o600


async def test_a_list_is_asked_for_again_after_a_day_and_a_failure_after_minutes(tmp_path: Path) -> None:
    clock = Clock()
    catalog = Catalog(tmp_path, clock)
    assert catalog.is_wanting(ROUTER, "x")
    with pytest.raises(AgentFailure):
        await catalog.refresh(ROUTER, broken)
    assert not catalog.is_wanting(ROUTER, "x")
    clock.now += RETRY_SECONDS
    assert catalog.is_wanting(ROUTER, "x")
    await catalog.refresh(ROUTER, told)
    assert not catalog.is_wanting(ROUTER, "x")
    clock.now += DAY
    assert catalog.is_wanting(ROUTER, "x")


async def test_a_failure_leaves_what_was_known(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    await catalog.refresh(ROUTER, told)
    with pytest.raises(AgentFailure):
        await catalog.refresh(ROUTER, broken)

    assert catalog.look(ROUTER, "a/b") == Model(1000, 100)


async def test_an_ollama_is_asked_for_each_model_and_keeps_the_others(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    await catalog.refresh(OLLAMA, lambda: told({"one": Model(1)}))
    assert catalog.is_wanting(OLLAMA, "two")
    await catalog.refresh(OLLAMA, lambda: told({"two": Model(2)}))

    assert [catalog.look(OLLAMA, name).context_window for name in ("one", "two")] == [1, 2]


async def test_two_processes_keep_what_the_other_one_was_told(tmp_path: Path) -> None:
    one, other, later = (Catalog(tmp_path) for _ in range(3))
    await one.refresh(of("one"), told)
    await other.refresh(of("other"), told)
    await later.load()

    assert later.names(of("one")) == later.names(of("other")) == ("a/b", "c/d")


async def test_only_the_places_asked_last_are_kept(tmp_path: Path) -> None:
    clock = Clock()
    catalog, later = Catalog(tmp_path, clock), Catalog(tmp_path, clock)
    for number in range(MOST_PLACES + 3):
        clock.now += 1
        await catalog.refresh(of(f"host{number}"), told)
    await later.load()

    assert [bool(later.names(of(f"host{number}"))) for number in range(MOST_PLACES + 3)] == [False] * 3 + [
        True
    ] * MOST_PLACES


@given(
    st.binary(max_size=60)
    | st.just(b'{"form": 1, "places": {"x": {"at": 1, "models": {"m": {"context_window": -1}}}}}')
)
async def test_any_file_in_its_place_counts_as_none(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("cache")
    (folder / "models.json").write_bytes(content)
    catalog = Catalog(folder)
    await catalog.load()
    await catalog.refresh(ROUTER, told)

    assert catalog.names(ROUTER) == ("a/b", "c/d")
    assert set(json.loads((folder / "models.json").read_bytes())["places"]) == {place_of(ROUTER)}


async def test_a_folder_that_cannot_be_written_is_no_matter(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    catalog = Catalog(tmp_path / "cache")
    await catalog.load()
    await catalog.refresh(ROUTER, told)

    assert catalog.names(ROUTER) == ("a/b", "c/d")


def test_no_password_of_an_address_is_kept() -> None:
    assert place_of(Preset("custom", "http://me:secret@Host:8080/v1/")) == "custom host:8080/v1"


class Server:
    """Answers by method and whole address; what it does not have is a failure."""

    def __init__(self, base: str, **answers: Any) -> None:
        self.base = base
        self.answers = answers
        self.asked: list[str] = []

    async def fetch(self, path: str, body: bytes, base: str) -> bytes:
        name = (base or self.base).removeprefix("http://host") + path
        self.asked.append(name)
        if name not in self.answers:
            raise failure("transport", "bad_request", "not here")
        return json.dumps(self.answers[name]).encode()


TOP = {"context_length": 900, "max_completion_tokens": 90}
ITEMS: dict[str, tuple[dict[str, Any], Model]] = {
    "nothing known": ({}, Model()),
    "OpenRouter, the provider on top": ({"context_length": 1000, "top_provider": TOP}, Model(900, 90)),
    "OpenRouter, the model": ({"context_length": 1000, "top_provider": {"context_length": None}}, Model(1000)),
    "OpenRouter, abilities": (
        {"supported_parameters": ["tools", "x"], "architecture": {"input_modalities": ["text", "image"]}},
        Model(abilities=("tools", "images")),
    ),
    "llama.cpp, as started": (
        {"status": {"args": ["-m", "x", "--ctx-size", "4096"]}, "meta": {"n_ctx_train": 9999}},
        Model(4096),
    ),
    "llama.cpp, short": ({"status": {"args": ["-c", "2048"]}}, Model(2048)),
    "llama.cpp, as made": ({"status": {"args": ["--ctx-size", "0"]}, "meta": {"n_ctx_train": 9999}}, Model(9999)),
    "vLLM": ({"max_model_len": 8192}, Model(8192)),
    "Anthropic": ({"max_input_tokens": 200_000, "max_tokens": 64_000}, Model(200_000, 64_000)),
    "nonsense": ({"context_length": True, "top_provider": [], "meta": 3, "status": {"args": "x"}}, Model()),
}


@pytest.mark.parametrize(("item", "model"), ITEMS.values(), ids=ITEMS)
async def test_each_server_tells_in_its_own_way(item: dict[str, Any], model: Model) -> None:
    server = Server("", **{"/models": {"data": [{"id": "m", **item}, {"id": 3}, "plain"]}})

    assert await facts(Preset("openrouter"), "m", server.fetch) == {"m": model, "plain": Model()}


async def test_a_server_that_tells_no_sizes_is_asked_outside_of_v1_too() -> None:
    own, root = {"data": [{"id": "m"}, {"id": "n"}]}, {"data": [{"id": "m", "status": {"args": ["--ctx-size=512"]}}]}
    studio = {"data": [{"id": "n", "max_context_length": 256}]}
    server = Server("http://host/v1", **{"/v1/models": own, "/models": root, "/api/v0/models": studio})

    assert await facts(Preset("custom", "http://host/v1"), "m", server.fetch) == {"m": Model(512), "n": Model(256)}
    quiet = Server("http://host/v1", **{"/v1/models": own})
    assert await facts(Preset("custom", "http://host/v1"), "m", quiet.fetch) == {"m": Model(), "n": Model()}


SHOWN: dict[str, tuple[Any, Model]] = {
    "as made": ({"model_info": {"gemma.context_length": 131_072}}, Model(131_072)),
    "as set": (
        {"model_info": {"gemma.context_length": 131_072}, "parameters": 'stop "x"\nnum_ctx    8192'},
        Model(8192),
    ),
    "abilities": ({"capabilities": ["completion", "tools", "vision"]}, Model(abilities=("tools", "images"))),
    "nonsense": ([], Model()),
}


@pytest.mark.parametrize(("answer", "model"), SHOWN.values(), ids=SHOWN)
async def test_an_ollama_shows_one_model(answer: Any, model: Model) -> None:
    server = Server("", **{":11434/api/show": answer})

    found = await facts(Preset("ollama", "http://host:11434/v1"), "gemma4", server.fetch)

    assert (found, server.asked) == ({"gemma4": model}, [":11434/api/show"])
