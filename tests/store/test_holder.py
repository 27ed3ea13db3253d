import os
import subprocess
import sys
import time
from pathlib import Path

from smith_server.store.holder import Holder, is_living, this_process


def test_this_process_lives_and_is_always_the_same() -> None:
    assert is_living(this_process())
    assert this_process() == this_process()
    assert this_process().pid == os.getpid()


def test_a_number_that_was_given_to_a_later_process_is_not_its_first_owner() -> None:
    me = this_process()
    assert not is_living(Holder(me.host, me.pid, "another start"))


def test_a_process_of_another_machine_counts_as_living() -> None:
    assert is_living(Holder("somewhere-else.invalid", 999_999_999, "x"))


def told_by(process: "subprocess.Popen[str]") -> Holder:
    assert process.stdout is not None
    host, pid, start = process.stdout.readline().rstrip("\n").split("|")
    return Holder(host, int(pid), start)


def test_a_killed_process_is_dead_even_before_it_is_collected() -> None:
    code = (
        "from smith_server.store.holder import this_process as t; import sys;"
        " print(t().host, t().pid, t().start, sep='|', flush=True); sys.stdin.read()"
    )
    pipe, root = subprocess.PIPE, Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", code], cwd=root, stdin=pipe, stdout=pipe, text=True) as process:
        holder = told_by(process)
        assert is_living(holder)
        process.kill()
        until = time.monotonic() + 10
        while is_living(holder):
            assert time.monotonic() < until
    assert not is_living(holder)
