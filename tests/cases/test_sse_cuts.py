"""The streams of the case data, ended after every byte in every way: complete, or a named error."""

from typing import Any

import pytest

from smith_server.core.messages import Call
from smith_server.core.ports import Done, Failed
from tests.cases.test_sse_streams import CASES, reading

ENDS = ("eof", "reset", "stall")
CODES = {
    "overloaded",
    "rate_limited",
    "auth",
    "bad_request",
    "provider_error",
    "stream_truncated",
    "stall_timeout",
    "protocol_error",
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_wherever_a_stream_ends_it_is_complete_or_a_named_error(case: dict[str, Any], end: Any) -> None:
    given = {**case["input"], "end": end}
    data = "".join(given["chunks_latin1"]).encode("latin-1")
    for at in range(len(data) + 1):
        answer, _ = reading(given)
        answer.feed(data[:at])
        last = answer.end(end)[-1]
        if isinstance(last, Failed):
            assert last.error.code in CODES
            assert not [part for part in last.parts if isinstance(part, Call)]
        else:
            assert isinstance(last, Done)
