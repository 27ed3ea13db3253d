"""What the tests of texts share: a file of ten lines, edits of it and the codes of refusals."""

import asyncio
import time

import pytest

from smith_server.core.errors import ToolRefusal
from smith_server.workspace.edits import LineEdit
from smith_server.workspace.texts import Texts
from tests.fakes.editor import FakeEditor

TEN = "".join(f"line {number}\n" for number in range(1, 11))


def texts_of(editor=None, **more):
    return Texts(editor or FakeEditor(), environment={"HOME": "/nowhere"}, **more)


def replace(start, content, end=None):
    return LineEdit("replace", start, end or start, content)


async def refused(call):
    with pytest.raises(ToolRefusal) as caught:
        await call
    return caught.value.error


async def code(call):
    return (await refused(call)).code


async def until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        await asyncio.sleep(0.005)
