import copy
import json
import pickle
from typing import Any

import msgspec
import pytest

from smith_server.config.freeze import FrozenDict, FrozenList, freeze, thaw
from smith_server.config.layers import Loaded
from smith_server.config.schema import ProviderSettings, Settings
from tests.config.sources import Scratch

SOURCE = {"a": [1, {"b": [2]}], "c": {"d": "e"}}


@pytest.mark.parametrize(
    "write",
    [
        lambda tree: tree.__setitem__("x", 1),
        lambda tree: tree.__delitem__("a"),
        lambda tree: tree.update(x=1),
        lambda tree: tree.setdefault("x", 1),
        lambda tree: tree.pop("a"),
        lambda tree: tree.popitem(),
        lambda tree: tree.clear(),
        lambda tree: tree.__ior__({"x": 1}),
        lambda tree: tree["c"].update(d=1),
        lambda tree: tree["a"].append(1),
        lambda tree: tree["a"].__setitem__(0, 1),
        lambda tree: tree["a"].extend([1]),
        lambda tree: tree["a"].insert(0, 1),
        lambda tree: tree["a"].pop(),
        lambda tree: tree["a"].remove(1),
        lambda tree: tree["a"].sort(),
        lambda tree: tree["a"].reverse(),
        lambda tree: tree["a"].clear(),
        lambda tree: tree["a"].__iadd__([1]),
        lambda tree: tree["a"].__imul__(2),
        lambda tree: tree["a"].__delitem__(0),
        lambda tree: tree["a"][1]["b"].append(3),
    ],
)
def test_nothing_at_any_depth_can_be_written(write: Any) -> None:
    frozen = freeze(SOURCE)
    with pytest.raises(TypeError):
        write(frozen)
    assert frozen == SOURCE


def test_later_changes_of_the_source_do_not_show() -> None:
    source = copy.deepcopy(SOURCE)
    frozen = freeze(source)
    source["a"].append(3)
    source["c"]["d"] = "changed"
    assert frozen == SOURCE


def test_freezing_twice_is_freezing_once() -> None:
    frozen = freeze(SOURCE)
    assert freeze(frozen) is frozen


def test_what_holds_itself_is_frozen_with_its_circle() -> None:
    ring: dict[str, Any] = {"list": []}
    ring["list"].append(ring)
    ring["self"] = ring
    frozen = freeze(ring)
    assert frozen["self"] is frozen
    assert frozen["list"][0] is frozen
    assert (type(frozen), type(frozen["list"])) == (FrozenDict, FrozenList)


def test_frozen_values_encode_copy_and_thaw() -> None:
    frozen = freeze(SOURCE)
    assert json.loads(json.dumps(frozen)) == SOURCE
    assert msgspec.json.decode(msgspec.json.encode(frozen)) == SOURCE
    assert pickle.loads(pickle.dumps(frozen)) == SOURCE
    assert copy.deepcopy(frozen) == SOURCE
    thawed = thaw(frozen)
    thawed["a"][1]["b"].append(3)
    assert frozen == SOURCE


def test_nothing_in_settings_can_be_written(scratch: Scratch) -> None:
    scratch.own.write_text('[models]\na = "b"\n[providers.openai.headers]\nX = "y"\n[services.ui]\na = {b = [1]}\n')
    settings = scratch.load().settings
    writes: list[Any] = [
        lambda: setattr(settings, "default_model", "x"),
        lambda: setattr(settings.llm_config, "timeout", 1),
        lambda: settings.models.__setitem__("a", "c"),
        lambda: settings.providers.openai.headers.__setitem__("X", "z"),
        lambda: settings.services.ui["a"]["b"].append(2),
        lambda: Settings().models.__setitem__("a", "c"),
        lambda: ProviderSettings(headers={"a": "b"}).headers.__setitem__("a", "c"),
    ]
    for write in writes:
        with pytest.raises((TypeError, AttributeError)):
            write()
    assert settings == scratch.load().settings


def test_nothing_else_that_was_loaded_can_be_written(scratch: Scratch) -> None:
    scratch.own.write_text("max_requests = 3")
    scratch.projects.write_text('[approval]\nmode = "auto"\n')
    loaded: Any = scratch.load()
    writes: list[Any] = [
        lambda: loaded.tree["approval"].__setitem__("mode", "auto"),
        lambda: loaded.tree["approval"]["deny"].append("x"),
        lambda: loaded.origin.clear(),
        lambda: loaded.waiting.clear(),
        lambda: setattr(loaded, "unsafe", True),
        lambda: Loaded(Settings(), {}).tree.__setitem__("a", 1),
    ]
    for write in writes:
        with pytest.raises((TypeError, AttributeError)):
            write()
    assert loaded == scratch.load()
