import asyncio
from typing import Any

from smith_server.core.events import Envelope, Event, Notice, OutputDelta, TurnCompleted
from smith_server.lsp.stream import JOIN_SECONDS, KEPT_BYTES, MOST_BACKLOG, EventStream


class Client:
    def __init__(self, size: int = 100) -> None:
        self.got: list[dict[str, Any]] = []
        self.unread = 0
        self.stream = EventStream(self.send, lambda: self.unread)
        self.size = size

    def send(self, body: dict[str, Any]) -> int:
        self.got.append(body)
        return self.size

    def take(self, event: Event) -> None:
        self.stream.take(Envelope("c", "t000001", event))

    @property
    def short(self) -> list[tuple[int, str, str]]:
        return [(body["seq"], body["kind"], body.get("text", "")) for body in self.got]


async def test_the_first_delta_goes_out_at_once_and_the_next_ones_together() -> None:
    client = Client()
    for text in "abc":
        client.take(OutputDelta(message="m", text=text))
    assert client.short == [(1, "llm_output_delta", "a")]
    await asyncio.sleep(JOIN_SECONDS * 2)
    assert client.short == [(1, "llm_output_delta", "a"), (2, "llm_output_delta", "bc")]


async def test_other_events_never_wait_and_never_overtake_a_delta() -> None:
    client = Client()
    client.take(OutputDelta(message="m", text="a"))
    client.take(OutputDelta(message="m", text="b"))
    client.take(TurnCompleted())
    assert client.short == [(1, "llm_output_delta", "a"), (2, "llm_output_delta", "b"), (3, "turn_completed", "")]


async def test_a_thousand_deltas_are_few_notifications() -> None:
    client = Client()
    for _ in range(10):
        for _ in range(100):
            client.take(OutputDelta(message="m", text="x"))
        await asyncio.sleep(JOIN_SECONDS / 4)
    client.stream.flush()
    assert len(client.got) <= 8
    assert sum(len(body["text"]) for body in client.got) == 1000


async def test_events_are_kept_for_a_while_and_a_gap_is_told() -> None:
    client = Client(size=KEPT_BYTES // 3)
    for number in range(5):
        client.take(Notice(level="info", text=str(number)))
    kept = client.stream.since(2)
    assert kept is not None
    assert [body["text"] for body in kept] == ["2", "3", "4"]
    assert client.stream.since(0) is None
    assert client.stream.since(5) == []


async def test_a_client_that_does_not_read_loses_events_and_is_told_so_when_it_reads_again() -> None:
    client = Client()
    client.unread = MOST_BACKLOG + 1
    client.take(Notice(level="info", text="lost"))
    assert client.got == []
    client.unread = 0
    while not client.got:
        await asyncio.sleep(0.01)
    client.take(Notice(level="info", text="seen"))
    assert client.short == [(1, "resync", ""), (2, "notice", "seen")]


async def test_each_conversation_that_missed_something_is_named() -> None:
    client = Client()
    client.unread = MOST_BACKLOG + 1
    for name in ("one", "two", "one"):
        client.stream.take(Envelope(name, "t000001", Notice(level="info", text="lost")))
    assert client.stream.since(0) is None
    client.unread = 0
    while not client.got:
        await asyncio.sleep(0.01)
    assert [(body["kind"], body["conversation"]) for body in client.got] == [("resync", "one"), ("resync", "two")]
    assert client.stream.since(0) == client.got


async def test_a_number_that_was_never_given_is_no_place_to_go_on_from() -> None:
    assert Client().stream.since(1) is None
