"""What stands at a place now, in the buffer if it is open, else on disk, and whether it may be edited."""

import re
from typing import Literal

from msgspec import Struct

from smith_server.core.editor import OpenText
from smith_server.core.errors import ToolRefusal
from smith_server.workspace.files import OnDisk, require_writable
from smith_server.workspace.paths import Place
from smith_server.workspace.text import decode, is_unicode, line_ends, text_hash

_DECORATION = re.compile(r"^iso-(?=latin)|(?<=latin)-(?=\d)|-(unix|dos|mac)$")
_HOLDS_ALL = re.compile(r"|undecided|prefer-utf-8|utf.*|ucs-?4.*")


class Ground(Struct, frozen=True):
    """The text at a place, and where it comes from: `buffer` or `disk`, or neither for a file to be made."""

    place: Place
    text: str
    hash: str
    encoding: str
    bom: bytes = b""
    buffer: OpenText | None = None
    disk: OnDisk | None = None

    @property
    def source(self) -> Literal["buffer", "disk"]:
        return "disk" if self.buffer is None else "buffer"


def ground_in_buffer(place: Place, buffer: OpenText) -> Ground:
    """The ground that an open buffer is."""
    return Ground(place, buffer.text, buffer.hash, buffer.encoding, buffer=buffer)


def ground_on_disk(disk: OnDisk) -> Ground:
    """The ground that a file on disk is."""
    decoded = decode(disk.data)
    return Ground(disk.place, decoded.text, text_hash(decoded.text), decoded.encoding, decoded.bom, disk=disk)


def no_ground(place: Place) -> Ground:
    """The ground where nothing is yet."""
    return Ground(place, "", text_hash(""), "utf-8")


def require_text(ground: Ground) -> None:
    """Raise `binary_file` for what is no text."""
    if "\0" in ground.text:
        raise ToolRefusal("binary_file", f"{ground.place.name} is a binary file (it holds NUL bytes).")


def require_editable(ground: Ground) -> None:
    """Raise for what can be read at most.

    `read_only`, `unsupported_encoding`, `binary_file`, `unsupported_line_ends`.
    """
    name = ground.place.name
    if ground.disk is not None:
        require_writable(ground.disk)
        if decode(ground.disk.data).wide:
            raise _encoding(f"{name} is UTF-16 or UTF-32")
    require_text(ground)
    if ground.disk is not None and ground.encoding != "utf-8":
        raise _encoding(f"{name} is not UTF-8")
    if not is_unicode(ground.text):
        raise _encoding(f"{name} holds characters that cannot be sent")
    if line_ends(ground.text) == "cr":
        raise ToolRefusal(
            "unsupported_line_ends",
            f"{name} ends its lines with CR alone, on which editors disagree: it can be read, not edited. "
            "Ask the user whether to convert it.",
        )


def require_holds(ground: Ground, text: str) -> None:
    """Raise `unsupported_encoding` when the buffer's encoding cannot hold `text`: the user could not save any more.

    Encodings have the names that Neovim and Emacs give them.
    """
    if text.isascii():
        return
    encoding = _DECORATION.sub("", ground.encoding.lower())
    if _HOLDS_ALL.fullmatch(encoding):
        return
    try:
        text.encode(encoding)
    except LookupError:
        raise _encoding(f"{ground.place.name} is in the encoding {encoding}, which is not known here") from None
    except UnicodeEncodeError as problem:
        char = problem.object[problem.start]
        raise _encoding(
            f"{ground.place.name} is in the encoding {encoding}, which has no {char!r} (U+{ord(char):04X})"
        ) from None


def _encoding(why: str) -> ToolRefusal:
    return ToolRefusal(
        "unsupported_encoding",
        f"{why}: this edit would damage it. Nothing was changed. Ask the user whether to convert it.",
    )
