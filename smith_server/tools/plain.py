"""Bytes of files as text that can be stored and shown: nothing is dropped, nothing reaches a terminal as a command."""

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")


def plain(data: bytes) -> str:
    """UTF-8 with replacement characters; controls but tab and line ends become `\\x1b` and the like."""
    return shown(data.decode("utf-8", "replace"))


def shown(text: str) -> str:
    """`text` with its controls written as escapes; CRLF becomes LF."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text).replace("\r\n", "\n")
