"""Adds message after message to one conversation, each in a commit of its own, and tells what some of them cost.

Through the program's own store. Prints two lines of nanoseconds: around message EARLY and around message LATE.
"""

import sys
import time
from pathlib import Path

from smith_server.core.messages import Message, ToolMessage, UserMessage
from smith_server.store import conversations, turns
from smith_server.store.conversations import Header
from smith_server.store.holder import this_process
from smith_server.store.opening import Place, open_store
from smith_server.store.writes import AddMessage, OpenTurn

PER_TURN = 50
AROUND = 50


def message(number: int) -> Message:
    """The message of that number; every fiftieth is a prompt, the others are results."""
    turn, seq = divmod(number, PER_TURN)
    name = f"t{turn + 1:06d}.{seq + 1:04d}"
    if seq == 0:
        return UserMessage(name, f"prompt {turn}")
    return ToolMessage(name, f"call_{number}", "bash", f"line {number} of an output\n" * 5)


def main() -> None:
    """Add `LATE + AROUND` messages."""
    path, early, late = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    connection = open_store(Place(path)).connection
    conversations.create(connection, Header("long", "/project"))
    turns.apply(connection, [OpenTurn("long", "t000001", "prompt", this_process())])
    taken = []
    for number in range(late + AROUND):
        write = AddMessage("long", message(number))
        began = time.perf_counter_ns()
        turns.apply(connection, [write])
        taken.append(time.perf_counter_ns() - began)
    connection.close()
    for middle in (early, late):
        print(*taken[middle - AROUND : middle + AROUND])


main()
