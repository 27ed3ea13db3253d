from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.config.layers import Loaded, load, stamp
from smith_server.config.merge import Layer, merge
from smith_server.config.paths import Places, places, project_root
from smith_server.config.schema import Settings
from smith_server.core.errors import AgentFailure
from tests.store.builders import without_root


class Sources:
    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        (self.project / ".smith").mkdir(parents=True)
        self.home.mkdir()
        self.environ: dict[str, str] = {}
        self.flags: dict[str, object] = {}

    @property
    def own(self) -> Path:
        return self.home / "config.toml"

    @property
    def projects(self) -> Path:
        return self.project / ".smith" / "config.toml"

    def load(self, explicit: Path | None = None) -> Loaded:
        where = Places(self.home, self.home, self.home)
        return load(where, self.project, self.environ, self.flags, explicit)


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return Sources(tmp_path)


def test_the_stamp_changes_with_every_file_that_is_read_and_with_nothing_else(sources: Sources) -> None:
    where = Places(sources.home, sources.home, sources.home)

    def now() -> object:
        return stamp(where, sources.project)

    seen = [now()]
    (sources.home / "smith.db").write_text("not read")
    assert now() == seen[0]
    for path in (sources.own, sources.projects, sources.home / "config.json"):
        path.write_text("[bash]")
        seen.append(now())
        path.write_text("[bash]\ntimeout = 30\n")
        seen.append(now())
    sources.own.unlink()
    assert len({*seen, now()}) == len(seen) + 1


def test_without_any_file_the_defaults_hold(sources: Sources) -> None:
    assert sources.load() == Loaded(Settings(), {})


def test_higher_layers_win_and_every_value_knows_its_origin(sources: Sources) -> None:
    sources.own.write_text('[providers.ollama]\nmodel = "file"\n[bash]\ntimeout = 60\n')
    sources.projects.write_text("[bash]\ntimeout = 30\n")
    sources.environ = {"SMITH_MODEL": "from the environment", "SMITH_PROVIDER": "Ollama"}
    sources.flags = {"defaults": {"provider": "openai"}}
    loaded = sources.load()
    assert loaded.settings.providers.ollama.model == "from the environment"
    assert loaded.settings.bash.timeout == 30
    assert loaded.settings.defaults.provider == "openai"
    assert loaded.origin["bash.timeout"] == str(sources.projects)
    assert loaded.origin["defaults.provider"] == "command line"
    assert loaded.origin["providers.ollama.model"] == "environment"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("max_requests = true", "max_requests"),
        ("max_requests = 0", "max_requests"),
        ("max_requests = 2.5", "max_requests"),
        ("[bash]\ntimeout = nan", "bash.timeout"),
        ("[bash]\ntimeout = -1", "bash.timeout"),
        ('[bash]\ntimeout = "60"', "bash.timeout"),
        ("bash = 3", "bash"),
        ('[models]\nx = ""', "models"),
    ],
)
def test_a_bad_value_costs_itself_alone(sources: Sources, text: str, told: str) -> None:
    sources.own.write_text(f'default_model = "kept"\n{text}\n')
    loaded = sources.load()
    assert loaded.settings == Settings(default_model="kept")
    assert len(loaded.problems) == 1
    assert f"`{told}`" in loaded.problems[0]
    assert not loaded.unsafe


def test_an_unknown_key_is_told_with_its_line_and_the_nearest_known_one(sources: Sources) -> None:
    sources.own.write_text('# my settings\ndefault_modle = "x"\n')
    loaded = sources.load()
    assert loaded.problems == (f"{sources.own}:2: there is no setting `default_modle`; did you mean `default_model`?",)


@pytest.mark.parametrize(
    "content",
    [b"approval = [", b"\xff\xfe", b"[approval]\nmode = 'auto'\n[approval]\n", b'[approval]\nmode = "never"'],
    ids=["syntax", "not UTF-8", "table twice", "bad value in a table that guards"],
)
def test_what_guards_the_person_and_cannot_be_read_never_widens(sources: Sources, content: bytes) -> None:
    sources.own.write_bytes(content)
    sources.flags = {"approval": {"mode": "auto"}}
    loaded = sources.load()
    assert loaded.unsafe
    assert loaded.settings.approval.mode == "prompt"
    assert len(loaded.problems) == 1


def test_a_folder_and_a_pipe_in_place_of_the_file_are_told(sources: Sources) -> None:
    sources.own.mkdir()
    assert "no regular file" in sources.load().problems[0]


def test_a_file_with_a_byte_order_mark_is_read(sources: Sources) -> None:
    sources.own.write_bytes(b'\xef\xbb\xbfdefault_model = "x"\n')
    assert sources.load().settings.default_model == "x"


def test_json_has_the_same_keys_and_loses_against_toml(sources: Sources) -> None:
    twin = sources.own.with_suffix(".json")
    twin.write_text('{"default_model": "json"}')
    assert sources.load().settings.default_model == "json"
    sources.own.write_text('default_model = "toml"')
    loaded = sources.load()
    assert loaded.settings.default_model == "toml"
    assert len(loaded.problems) == 1


def test_a_project_may_only_narrow(sources: Sources) -> None:
    sources.own.write_text('max_requests = 100\n[approval]\nmode = "auto"\n')
    sources.projects.write_text(
        'max_requests = 50\ndefault_model = "m"\n[approval]\nmode = "prompt"\n[editor]\nsave_before_run = "never"\n'
        '[llm_config]\napi_url = "http://elsewhere"\n[providers.openai]\nbase_url = "http://elsewhere"\n'
        "[bash]\ntimeout = 3000\n"
    )
    loaded = sources.load()
    settings = loaded.settings
    assert (settings.max_requests, settings.approval.mode, settings.editor.save_before_run) == (50, "prompt", "never")
    assert (settings.default_model, settings.llm_config.api_url, settings.providers.openai.base_url) == ("", "", "")
    assert settings.bash.timeout == 120
    assert [text.partition("`")[2].partition("`")[0] for text in loaded.problems] == [
        "default_model",
        "llm_config.api_url",
        "providers.openai.base_url",
        "bash.timeout",
    ]


def test_a_project_cannot_switch_questions_off(sources: Sources) -> None:
    sources.projects.write_text('[approval]\nmode = "auto"\n')
    assert sources.load().settings.approval.mode == "prompt"


def test_a_file_that_was_named_has_to_be_there(sources: Sources, tmp_path: Path) -> None:
    with pytest.raises(AgentFailure) as caught:
        sources.load(tmp_path / "missing.toml")
    assert caught.value.error.code == "config_missing"


def test_the_global_file_is_not_taken_for_a_projects(tmp_path: Path) -> None:
    home = tmp_path / ".smith"
    home.mkdir()
    (home / "config.toml").write_text('[approval]\nmode = "auto"\n')
    loaded = load(Places(home, home, home), tmp_path, {}, {})
    assert loaded.settings.approval.mode == "auto"


KEYS = ["approval", "mode", "bash", "timeout", "models", "default", "providers", "ollama", "headers", "max_requests"]
leaves = st.sampled_from([None, True, 3, -1, 2.5, float("nan"), "auto", "prompt", "", [], {}])
values = leaves | st.dictionaries(st.sampled_from(KEYS), leaves | st.dictionaries(st.sampled_from(KEYS), leaves))


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), values, max_size=4), max_size=4))
def test_any_layers_at_all_give_valid_settings(trees: list[dict[str, object]]) -> None:
    merged = merge([Layer(str(number), tree) for number, tree in enumerate(trees)])
    assert merged == merge([Layer(str(number), tree) for number, tree in enumerate(trees)])
    assert merged.settings.max_requests >= 1


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


def test_a_folder_that_may_not_be_looked_into_is_unsafe_and_told(sources: Sources) -> None:
    sources.own.write_text("max_requests = 3\n")
    sources.home.chmod(0)
    with without_root():
        loaded = sources.load()
    sources.home.chmod(0o700)
    assert (loaded.unsafe, loaded.settings) == (True, Settings())
    assert str(sources.own) in loaded.problems[0]
    assert "Permission denied" in loaded.problems[0]


def test_a_named_file_with_an_impossible_name_is_told_as_missing(sources: Sources) -> None:
    with pytest.raises(AgentFailure, match="does not exist or is no file"):
        sources.load(Path("a" * 5000))
