"""Fills the store of a home with many conversations, one message in a hundred with the word `needle`.

Through the program's own store, without a commit for each message: what is measured comes afterwards.
Prints the ids of some of the conversations, a line each.
"""

import random
import sys
from collections.abc import Iterator
from pathlib import Path

from smith_server.config.paths import project_root
from smith_server.core.messages import AssistantMessage, Call, Message, Text, ToolMessage, UserMessage
from smith_server.store import conversations, turns
from smith_server.store.conversations import Header
from smith_server.store.holder import this_process
from smith_server.store.keys import new_id
from smith_server.store.opening import Place, open_store
from smith_server.store.transaction import transaction
from smith_server.store.writes import AddMessage, CloseTurn, OpenTurn, Write

PER_TURN = 5
AT_ONCE = 500
TOLD = 50
_WORDS = [f"word{number}" for number in range(3000)]


def _said(chance: random.Random, number: int) -> str:
    text = " ".join(chance.choices(_WORDS, k=20))
    return f"{text} needle" if number % 100 == 0 else text


def messages(turn: str, number: int, chance: random.Random) -> Iterator[Message]:
    """The messages of a turn that ran two commands, counted from `number`."""
    texts = [_said(chance, number + at) for at in range(PER_TURN)]
    calls = tuple(Call(f"call_{number}_{n}", "bash", '{"command": "true"}') for n in (1, 2))
    yield UserMessage(f"{turn}.0001", texts[0])
    yield AssistantMessage(f"{turn}.0002", (Text(texts[1]), *calls), "bench", "tool_use")
    yield ToolMessage(f"{turn}.0003", calls[0].id, "bash", texts[2])
    yield ToolMessage(f"{turn}.0004", calls[1].id, "bash", texts[3])
    yield AssistantMessage(f"{turn}.0005", (Text(texts[4]),), "bench")


def writes(conversation: str, first: int, count: int, chance: random.Random) -> Iterator[Write]:
    """Whole turns with `count` messages in all."""
    holder = this_process()
    for number in range(count // PER_TURN):
        turn = f"t{number + 1:06d}"
        yield OpenTurn(conversation, turn, f"prompt {number}", holder)
        for message in messages(turn, first + number * PER_TURN, chance):
            yield AddMessage(conversation, message)
        yield CloseTurn(conversation, turn, "completed")


def main() -> None:
    """Fill the store, close it, tell whom there is."""
    home, times, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    root, chance = str(project_root(Path.cwd())), random.Random(1)
    connection = open_store(Place(home / "smith.db")).connection
    names = [new_id() for _ in range(times)]
    for start in range(0, times, AT_ONCE):
        with transaction(connection):
            for at, name in enumerate(names[start : start + AT_ONCE], start):
                conversations.create(connection, Header(name, root, f"conversation {at}"))
                turns.apply(connection, writes(name, at * count, count, chance))
    connection.close()
    print("\n".join(names[:: max(1, times // TOLD)]))


main()
