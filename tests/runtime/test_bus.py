import asyncio

from smith_server.core.events import Envelope, Event, Notice, OutputDelta, ReasoningDelta, TurnCompleted
from smith_server.runtime.bus import Bus, joined


class Keeper:
    def __init__(self) -> None:
        self.batches: list[list[Envelope]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def keep(self, batch: list[Envelope]) -> None:
        await self.gate.wait()
        self.batches.append(batch)


def said(text: str, message: str = "m1", conversation: str = "c") -> Envelope:
    return Envelope(conversation, "t000001", OutputDelta(message=message, text=text))


def other(event: Event) -> Envelope:
    return Envelope("c", "t000001", event)


async def test_events_are_kept_before_they_are_told_and_in_order() -> None:
    keeper, told = Keeper(), []
    bus = Bus(keeper)
    bus.start()
    bus.subscribe(lambda envelope: told.append((len(keeper.batches), envelope)))
    keeper.gate.clear()
    events = [other(Notice(level="info", text=str(number))) for number in range(3)]
    for event in events:
        bus.emit(event)
    await asyncio.sleep(0)
    assert told == []
    keeper.gate.set()
    await bus.told()
    assert [envelope for _, envelope in told] == events
    assert all(kept > 0 for kept, _ in told)
    await bus.stop()


async def test_a_listener_that_fails_misses_one_event_and_hinders_nobody() -> None:
    bus, seen = Bus(Keeper()), []

    def fails(envelope: Envelope) -> None:
        raise RuntimeError("no")

    bus.start()
    bus.subscribe(fails)
    bus.subscribe(seen.append)
    bus.emit(said("a"))
    bus.emit(other(TurnCompleted()))
    await bus.told()
    assert seen == [said("a"), other(TurnCompleted())]
    await bus.stop()


async def test_what_waits_is_kept_as_one_batch() -> None:
    keeper = Keeper()
    bus = Bus(keeper)
    bus.start()
    for text in "abc":
        bus.emit(said(text))
    await bus.told()
    assert keeper.batches == [[said("abc")]]
    await bus.stop()


async def test_stopping_tells_what_still_waits() -> None:
    bus, seen = Bus(Keeper()), []
    bus.start()
    bus.subscribe(seen.append)
    bus.emit(other(TurnCompleted()))
    await bus.stop()
    assert seen == [other(TurnCompleted())]


def test_only_neighbouring_deltas_of_one_message_are_joined() -> None:
    thought = other(ReasoningDelta(message="m1", text="hm"))
    events = [said("a"), said("b"), thought, said("c"), said("d", "m2"), said("e", "m2", "c2"), said("f", "m2", "c2")]
    assert list(joined(events)) == [
        said("ab"),
        thought,
        said("c"),
        said("d", "m2"),
        said("ef", "m2", "c2"),
    ]
