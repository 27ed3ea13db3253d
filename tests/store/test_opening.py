import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from smith_server.core.errors import AgentFailure
from smith_server.store import conversations, damage
from smith_server.store.conversations import Header
from smith_server.store.migrate import Step, known_steps
from smith_server.store.opening import Opened, Place, open_store
from tests.store.builders import batches_of_turn, started, stored, without_root
from tests.store.conftest import Start


def filled(path: Path, turns: int = 40) -> None:
    connection = open_store(Place(path)).connection
    started(connection)
    for number in range(1, turns + 1):
        stored(connection, batches_of_turn(number))
    connection.close()


def works(opened: Opened) -> bool:
    conversations.create(opened.connection, Header("fresh", "/project"))
    return conversations.get(opened.connection, "fresh") is not None


def names(folder: Path) -> list[str]:
    return sorted(part.name for part in folder.iterdir())


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def as_text(path: Path) -> None:
    path.write_text("dear diary\n" * 100)


def as_few_bytes(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0")


def as_start_of_it(path: Path) -> None:
    os.truncate(path, 1000)


def without_header(path: Path) -> None:
    overwrite(path, 0, b"\xa5" * 100)


def with_a_page_of_nothing(path: Path) -> None:
    with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as other:
        ((page,),) = other.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memory'")
    other.close()
    overwrite(path, 4096 * (page - 1), bytes(4096))


def with_flipped_bytes(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[150::97] = bytes(byte ^ 0xFF for byte in data[150::97])
    path.write_bytes(data)


def as_another_program(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 1")
        other.execute("CREATE TABLE bookmarks (url)")
    other.close()


DAMAGES = [
    as_text,
    as_few_bytes,
    as_start_of_it,
    without_header,
    with_a_page_of_nothing,
    with_flipped_bytes,
    as_another_program,
]


@pytest.mark.parametrize("damaged", DAMAGES, ids=[damage.__name__ for damage in DAMAGES])
def test_a_file_that_is_no_sound_store_is_renamed_unchanged_and_replaced(
    tmp_path: Path, damaged: Callable[[Path], None]
) -> None:
    path = tmp_path / "smith.db"
    filled(path)
    damaged(path)
    before = path.read_bytes()
    opened = open_store(Place(path))
    (warning,) = opened.warnings
    aside = Path(warning.data["aside"])
    assert (warning.kind, warning.code, warning.data["file"]) == ("persistence", "corrupt", str(path))
    assert str(path) in warning.message and str(aside) in warning.message
    assert aside.parent == tmp_path and aside.read_bytes() == before
    assert opened.path == path and works(opened)
    opened.connection.close()
    assert open_store(Place(path)).warnings == ()


def test_the_log_of_a_damaged_store_goes_with_it(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    as_text(path)
    (tmp_path / "smith.db-wal").write_bytes(b"log")
    (tmp_path / "smith.db-shm").write_bytes(b"shared")
    (warning,) = open_store(Place(path)).warnings
    aside = warning.data["aside"]
    assert Path(f"{aside}-wal").read_bytes() == b"log"
    assert Path(f"{aside}-shm").read_bytes() == b"shared"


def test_two_damaged_stores_in_one_second_are_both_kept(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    asides = set()
    for text in ("one", "two", "three"):
        path.write_text(text)
        opened = open_store(Place(path))
        opened.connection.close()
        asides.add(Path(opened.warnings[0].data["aside"]))
    assert sorted(aside.read_text() for aside in asides) == ["one", "three", "two"]


def test_a_large_store_is_checked_when_damage_was_met_while_working(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    filled(path)
    with_a_page_of_nothing(path)
    os.truncate(path, damage.MOST_TO_CHECK + 4096)
    first = open_store(Place(path))
    assert first.warnings == ()
    first.connection.close()
    damage.set_suspect(path)
    assert [warning.code for warning in open_store(Place(path)).warnings] == ["corrupt"]


def test_a_store_that_is_as_it_was_when_it_was_closed_is_not_looked_through_again(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    filled(path)
    with_a_page_of_nothing(path)
    damage.set_seal(path)
    assert open_store(Place(path)).warnings == ()


def test_a_store_that_was_closed_well_opens_without_a_word(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "smith.db"
    for _ in range(3):
        opened = open_store(Place(path))
        assert (opened.path, opened.warnings) == (path, ())
        opened.connection.close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    path.touch()
    opened = open_store(Place(path))
    assert (opened.path, opened.warnings, works(opened)) == (path, (), True)


def newer(path: Path) -> None:
    steps = (*known_steps(), Step("9999_later", "CREATE TABLE later (x)"))
    open_store(Place(path, steps=steps)).connection.close()


def test_a_newer_store_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    newer(path)
    before, around, state = path.read_bytes(), names(tmp_path), path.stat()
    with pytest.raises(AgentFailure) as raised:
        open_store(Place(path))
    error = raised.value.error
    known = len(known_steps())
    assert (error.kind, error.code, error.retryable) == ("persistence", "newer", False)
    assert error.data == {"file": str(path), "found": known + 1, "known": known}
    assert str(path) in error.message
    after = path.stat()
    assert (path.read_bytes(), names(tmp_path)) == (before, around)
    assert (after.st_mtime_ns, after.st_ino, after.st_size) == (state.st_mtime_ns, state.st_ino, state.st_size)


def left_by_a_dead_process(path: Path, pragma: str, value: int) -> None:
    """A store of which the last change stands in the log alone, with nobody using it."""
    first = path.with_name("first.db")
    filled(first, 2)
    connection = apsw.Connection(str(first))
    connection.pragma("wal_autocheckpoint", 0)
    connection.pragma(pragma, value)
    for side in ("", "-wal"):
        path.with_name(path.name + side).write_bytes(first.with_name(first.name + side).read_bytes())
    connection.close()


def test_a_newer_version_that_stands_in_the_log_alone_is_refused_too(tmp_path: Path) -> None:
    path, log = tmp_path / "smith.db", tmp_path / "smith.db-wal"
    left_by_a_dead_process(path, "user_version", 99)
    before, waiting = path.read_bytes(), log.read_bytes()
    with pytest.raises(AgentFailure) as raised:
        open_store(Place(path))
    assert raised.value.error.code == "newer"
    assert (path.read_bytes(), log.read_bytes()) == (before, waiting)


def test_a_damaged_store_does_not_get_what_waits_in_its_log(tmp_path: Path) -> None:
    path, log = tmp_path / "smith.db", tmp_path / "smith.db-wal"
    left_by_a_dead_process(path, "user_version", 1)
    with_a_page_of_nothing(path)
    before, waiting = path.read_bytes(), log.read_bytes()
    (warning,) = open_store(Place(path)).warnings
    aside = warning.data["aside"]
    assert (Path(aside).read_bytes(), Path(f"{aside}-wal").read_bytes()) == (before, waiting)


def in_memory(path: Path, code: str) -> None:
    opened = open_store(Place(path))
    (warning,) = opened.warnings
    assert (warning.kind, warning.code, warning.data["file"]) == ("persistence", code, str(path))
    assert str(path) in warning.message and "memory only" in warning.message
    assert opened.path is None and works(opened)


def test_a_folder_that_cannot_be_written_means_a_store_in_memory(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    with without_root():
        in_memory(open_folder / "smith.db", "read_only")
    assert names(open_folder) == []


def test_a_folder_that_cannot_be_made_means_a_store_in_memory(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    with without_root():
        in_memory(open_folder / "state" / "smith.db", "read_only")


def test_a_store_that_cannot_be_written_is_left_and_one_in_memory_used(open_folder: Path) -> None:
    path = open_folder / "smith.db"
    filled(path, 2)
    path.chmod(0o444)
    before, around = path.read_bytes(), names(open_folder)
    with without_root():
        in_memory(path, "read_only")
    assert (path.read_bytes(), names(open_folder)) == (before, around)


def test_a_store_in_a_folder_that_cannot_be_written_is_left_and_one_in_memory_used(open_folder: Path) -> None:
    path = open_folder / "smith.db"
    filled(path, 2)
    path.chmod(0o666)
    open_folder.chmod(0o555)
    before = path.read_bytes()
    with without_root():
        in_memory(path, "read_only")
    assert path.read_bytes() == before


def test_a_damaged_store_that_cannot_be_renamed_is_left_and_one_in_memory_used(open_folder: Path) -> None:
    path = open_folder / "smith.db"
    as_text(path)
    path.chmod(0o666)
    open_folder.chmod(0o555)
    with without_root():
        in_memory(path, "read_only")
    assert names(open_folder) == ["smith.db"]


def test_a_folder_at_the_path_means_a_store_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    path.mkdir()
    in_memory(path, "unavailable")
    assert names(tmp_path) == ["smith.db"] and path.is_dir()


def test_a_pipe_at_the_path_means_a_store_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    os.mkfifo(path)
    in_memory(path, "unavailable")


def test_a_file_in_the_place_of_the_folder_means_a_store_in_memory(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    in_memory(tmp_path / "state" / "smith.db", "unavailable")
    assert (tmp_path / "state").read_text() == "a file"


def test_a_disk_that_takes_no_more_means_a_store_in_memory(tmp_path: Path, start: Start) -> None:
    process = start("open_with_little_room", tmp_path / "smith.db")
    assert process.communicate()[0] == "['unavailable']\n"


def test_a_store_behind_a_link_is_used_where_it_lies(tmp_path: Path) -> None:
    real = tmp_path / "real.db"
    filled(real, 1)
    link = tmp_path / "smith.db"
    link.symlink_to(real)
    opened = open_store(Place(link))
    assert (opened.path, opened.warnings) == (real, ())
    assert conversations.get(opened.connection, "talk") is not None


def test_a_damaged_store_behind_a_link_is_put_aside_where_it_lies(tmp_path: Path) -> None:
    real = tmp_path / "real.db"
    as_text(real)
    link = tmp_path / "smith.db"
    link.symlink_to(real)
    (warning,) = open_store(Place(link)).warnings
    assert Path(warning.data["aside"]).name.startswith("real.db.damaged-")
    assert link.is_symlink()


def test_a_store_that_another_process_keeps_for_itself_is_locked(tmp_path: Path, start: Start) -> None:
    path = tmp_path / "smith.db"
    filled(path, 1)
    other = start("hold_file", path)
    assert other.stdout is not None and other.stdout.readline() == "ready\n"
    before = path.read_bytes()
    with pytest.raises(AgentFailure) as raised:
        open_store(Place(path, busy_ms=50))
    error = raised.value.error
    assert (error.kind, error.code, error.retryable) == ("persistence", "locked", True)
    assert str(path) in error.message
    assert path.read_bytes() == before


def test_a_start_that_another_process_is_in_the_middle_of_is_waited_for_and_then_locked(
    tmp_path: Path, start: Start
) -> None:
    path = tmp_path / "smith.db"
    other = start("hold_folder", path)
    assert other.stdout is not None and other.stdout.readline() == "ready\n"
    with pytest.raises(AgentFailure) as raised:
        open_store(Place(path, busy_ms=50))
    assert (raised.value.error.code, raised.value.error.retryable) == ("locked", True)
    other.communicate("go on\n")
    assert open_store(Place(path, busy_ms=5000)).warnings == ()


def journal(opened: Opened) -> str:
    return str(opened.connection.pragma("journal_mode"))


def test_a_log_is_used_on_a_local_disk_and_never_on_a_network(tmp_path: Path) -> None:
    local = open_store(Place(tmp_path / "local.db", is_remote=lambda _: False))
    remote = open_store(Place(tmp_path / "remote.db", is_remote=lambda _: True))
    assert (journal(local), journal(remote)) == ("wal", "delete")
    assert works(local) and works(remote)
    assert not (tmp_path / "remote.db-wal").exists()


def test_a_store_that_was_moved_to_a_network_gives_up_its_log_and_keeps_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    filled(path, 1)
    opened = open_store(Place(path, is_remote=lambda _: True))
    assert (journal(opened), opened.warnings) == ("delete", ())
    assert conversations.count(opened.connection, "talk") == 5
    assert works(opened)
    assert names(tmp_path) == ["smith.db", "smith.db.seal"]


def test_the_journal_mode_is_only_read_once_the_store_is_there(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    open_store(Place(path, is_remote=lambda _: True)).connection.close()
    again = open_store(Place(path, is_remote=lambda _: False))
    assert journal(again) == "delete"


def test_a_store_in_memory_is_like_one_in_a_file(tmp_path: Path) -> None:
    opened = open_store(Place(None))
    assert (opened.path, opened.warnings, works(opened)) == (None, (), True)
