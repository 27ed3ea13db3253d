from pathlib import Path

import pytest

from smith_server.core.errors import ToolRefusal
from smith_server.workspace.paths import locate, printable


def test_a_relative_path_is_below_the_folder_of_the_call(tmp_path):
    place = locate("src/../a.py", tmp_path)
    assert (place.spelled, place.real, place.name) == (tmp_path / "a.py", tmp_path / "a.py", "a.py")


def test_a_link_is_followed_and_its_target_named(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    place = locate("link/new.py", tmp_path)
    assert place.real == tmp_path / "real/new.py"
    assert place.name == "link/new.py (a link to real/new.py)"


def test_a_folder_that_is_itself_reached_through_a_link_is_no_link_to_name(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert locate("a.py", tmp_path / "link").name == "a.py"


def test_a_file_elsewhere_has_its_whole_path_as_name(tmp_path):
    assert locate("/dev/null", tmp_path).name == "/dev/null"


def test_a_tilde_is_the_home_folder_and_only_of_this_user(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert locate("~/a", tmp_path).real == tmp_path / "home/a"
    assert locate("~root/a", tmp_path).real == tmp_path / "~root/a"


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "a\ud800b"], ids=["empty", "blank", "nul", "surrogate"])
def test_what_cannot_be_a_path_is_refused(path, tmp_path):
    with pytest.raises(ToolRefusal) as caught:
        locate(path, tmp_path)
    assert caught.value.error.code == "invalid_path"


def test_a_name_shows_what_it_is_made_of():
    assert printable("a\nb\u202ec é") == "a\\nb\\u202ec é"


def test_a_circle_of_links_is_a_place_all_the_same(tmp_path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    assert isinstance(locate("one", tmp_path).real, Path)
