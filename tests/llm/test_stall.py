"""The deadline that follows from what came so far."""

from smith_server.llm.stall import StallClock, Timeouts

LIMITS = Timeouts(stall=300, queue=900, whole=600, ending=5, error_body=5)


def test_silence_from_the_start_ends_at_the_stall_limit() -> None:
    assert StallClock(LIMITS, began=1000).deadline == 1300


def test_comments_prolong_the_wait_before_the_first_event_but_not_beyond_the_queue_limit() -> None:
    clock = StallClock(LIMITS, began=1000)
    clock.saw(0, 1, False, 1200)
    assert clock.deadline == 1500
    clock.saw(0, 2, False, 1490)
    assert clock.deadline == 1790
    clock.saw(0, 3, False, 1700)
    assert clock.deadline == 1900


def test_bytes_that_are_neither_comment_nor_event_prolong_nothing() -> None:
    clock = StallClock(LIMITS, began=1000)
    clock.saw(0, 0, False, 1299)
    assert clock.deadline == 1300


def test_after_the_first_event_only_events_count() -> None:
    clock = StallClock(LIMITS, began=1000)
    clock.saw(1, 0, False, 1100)
    clock.saw(1, 50, False, 1390)
    assert clock.deadline == 1400
    clock.saw(2, 50, False, 1390)
    assert clock.deadline == 1690


def test_after_the_reason_the_rest_has_five_seconds_counted_from_the_last_event() -> None:
    clock = StallClock(LIMITS, began=1000)
    clock.saw(3, 0, True, 1010)
    assert clock.deadline == 1015
    clock.saw(3, 9, True, 1014)
    assert clock.deadline == 1015
    clock.saw(4, 9, True, 1014)
    assert clock.deadline == 1019


def test_a_whole_answer_has_its_total_time() -> None:
    clock = StallClock(LIMITS, began=1000)
    clock.whole()
    assert clock.deadline == 1600


def test_the_text_of_a_refusal_has_a_short_time() -> None:
    clock = StallClock(LIMITS, began=1000)
    clock.refused(1100)
    assert clock.deadline == 1105


def test_a_stall_limit_above_the_queue_limit_holds() -> None:
    clock = StallClock(Timeouts(stall=2000, queue=900), began=1000)
    clock.saw(0, 1, False, 1500)
    assert clock.deadline == 3000
