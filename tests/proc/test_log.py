import errno
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smith_server.proc.log import Log, LogFolder
from smith_server.proc.output import Kept


def read_all(store, since=0, most=7):
    """What a reader gets that asks again and again: the pieces with their places."""
    found, place = [], since
    while place < store.size:
        piece = store.read(place, most)
        found.append((piece.start, piece.data))
        assert piece.start >= place and len(piece.data) <= most
        assert piece.data or piece.start == store.size
        place = piece.end
    return found


pieces = st.lists(st.binary(max_size=60), max_size=12)


@settings(deadline=None, max_examples=150)
@given(before=pieces, after=pieces, limit=st.integers(0, 50), most=st.integers(1, 30))
def test_whatever_is_kept_stands_at_its_place_and_both_ends_are_kept(tmp_path_factory, before, after, limit, most):
    kept = Kept(limit)
    for piece in before:
        kept.feed(piece)
    log = Log(tmp_path_factory.mktemp("log") / "x", limit, kept)
    for piece in after:
        log.feed(piece)
    whole, room = b"".join([*before, *after]), max(limit // 2, 1)
    found = read_all(log, most=most)
    assert log.size == len(whole)
    assert all(whole[start : start + len(data)] == data for start, data in found)
    assert b"".join(data for _, data in found) == whole[:room] + whole[room:][-room:]
    assert log.path.stat().st_size <= 2 * room
    log.remove()
    assert not log.path.exists()


@given(before=pieces, limit=st.integers(0, 50), since=st.integers(0, 100), most=st.integers(1, 30))
def test_what_is_kept_in_memory_is_read_the_same_way(before, limit, since, most):
    kept = Kept(limit)
    for piece in before:
        kept.feed(piece)
    whole, room = b"".join(before), max(limit // 2, 1)
    found = read_all(kept, since, most)
    there = [place for place in range(len(whole)) if place < room or place >= len(whole) - room]
    assert b"".join(data for _, data in found) == bytes(whole[place] for place in there if place >= since)


def test_what_a_full_disk_does_not_take_is_a_gap(tmp_path):
    text = """if True:
        import resource, signal, sys
        from pathlib import Path
        from smith_server.proc.log import Log
        from smith_server.proc.output import Kept
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        log = Log(Path(sys.argv[1]), 1000, Kept(1000))
        log.feed(b"a" * 100)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
        log.feed(b"b" * 300)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        log.feed(b"c")
        print([log.size, len(log.read(0, 1000).data), log.read(100, 9).start, log.read(100, 9).data])
    """
    done = subprocess.run(
        [sys.executable, "-c", text, str(tmp_path / "x")],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert done.stdout == "[401, 100, 401, b'']\n"


def test_a_folder_is_private_and_goes_with_its_process(tmp_path):
    folder = LogFolder(tmp_path / "jobs")
    assert not (tmp_path / "jobs").exists()
    log = Log(folder.place("bash-1"), 100, Kept(100))
    assert (log.path.parent.stat().st_mode & 0o777, log.path.stat().st_mode & 0o777) == (0o700, 0o600)
    folder.close()
    assert list((tmp_path / "jobs").iterdir()) == []
    folder.close()


def test_folders_of_dead_processes_are_swept_and_those_of_living_ones_are_not(tmp_path):
    text = "import sys; from pathlib import Path; from smith_server.proc.log import LogFolder\n"
    text += "folder = LogFolder(Path(sys.argv[1])); print(folder.place('x').parent, flush=True); sys.stdin.read()"
    argv = [sys.executable, "-c", text, str(tmp_path)]
    repo = Path(__file__).resolve().parents[2]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=repo) as other:
        theirs = Path(other.stdout.readline().strip())
        first = LogFolder(tmp_path)
        first.place("x")
        assert theirs.is_dir()
        other.kill()
    second = LogFolder(tmp_path)
    second.place("x")
    assert not theirs.exists()
    assert len(list(tmp_path.iterdir())) == 2
    first.close()
    second.close()


@pytest.mark.parametrize("root", ["file/below", "file"])
def test_without_a_place_there_is_no_log(tmp_path, root):
    (tmp_path / "file").touch()
    with pytest.raises(OSError) as raised:
        LogFolder(tmp_path / root).place("x")
    assert raised.value.errno in (errno.ENOTDIR, errno.EEXIST)
