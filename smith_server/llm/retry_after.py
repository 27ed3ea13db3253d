"""When a server says one may come back: `retry-after-ms` and `retry-after`, in seconds from now."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

_NUMBER = re.compile(r"\d+(\.\d+)?", re.ASCII)
_DATES = ("%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y")


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait, 0 for a date that has passed, None when nothing sensible was said.

    `headers` have lower-case names.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    seconds = _number(text)
    return seconds if seconds is not None else _until(text.strip(), now or datetime.now(UTC))


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text := text.strip()) else None


def _until(text: str, now: datetime) -> float | None:
    for form in _DATES:
        try:
            moment = datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return max(0.0, (moment - now).total_seconds())
    return None
