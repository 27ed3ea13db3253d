"""When a server says one may come back."""

from datetime import UTC, datetime

import pytest

from smith_server.llm.retry_after import retry_after

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)

HEADERS = {
    "seconds": ({"retry-after": "7"}, 7.0),
    "zero": ({"retry-after": "0"}, 0.0),
    "a fraction": ({"retry-after": " 1.5 "}, 1.5),
    "a very long time": ({"retry-after": "1000000000"}, 1e9),
    "milliseconds": ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
    "rubbish milliseconds": ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
    "a date": ({"retry-after": "Wed, 02 Jan 2030 03:05:05 GMT"}, 60.0),
    "an old-fashioned date": ({"retry-after": "Wednesday, 02-Jan-30 03:05:05 GMT"}, 60.0),
    "a C date": ({"retry-after": "Wed Jan  2 03:05:05 2030"}, 60.0),
    "a date in the past": ({"retry-after": "Wed, 02 Jan 2020 03:05:05 GMT"}, 0.0),
    "negative": ({"retry-after": "-3"}, None),
    "a word": ({"retry-after": "later"}, None),
    "not a number": ({"retry-after": "nan"}, None),
    "infinite": ({"retry-after": "inf"}, None),
    "other digits": ({"retry-after": "٣"}, None),
    "nothing": ({}, None),
}


@pytest.mark.parametrize(("headers", "wait"), HEADERS.values(), ids=HEADERS)
def test_the_wait_is_read(headers: dict[str, str], wait: float | None) -> None:
    assert retry_after(headers, NOW) == wait
