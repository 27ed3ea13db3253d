import asyncio

import pytest

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import Cancelled
from smith_server.core.interrupt import interrupted_by


def test_a_request_marks_everything_below_and_nothing_above() -> None:
    root = CancelToken()
    child, sibling = root.child(), root.child()
    grandchild = child.child()
    child.request()
    assert [root.requested, child.requested, sibling.requested, grandchild.requested] == [False, True, False, True]


def test_a_child_of_a_cancelled_token_is_born_cancelled() -> None:
    root = CancelToken()
    root.request()
    assert root.child().requested
    with pytest.raises(Cancelled):
        root.child().check()


def test_a_callback_runs_once_and_can_be_taken_back() -> None:
    root, seen = CancelToken(), []
    root.on_request(lambda: seen.append("kept"))
    root.on_request(lambda: seen.append("taken back"))()
    root.request()
    root.request()
    root.on_request(lambda: seen.append("late"))
    assert seen == ["kept", "late"]


def test_a_released_child_is_not_reached_any_more() -> None:
    root = CancelToken()
    child = root.child()
    child.release()
    root.request()
    assert not child.requested


async def test_a_wait_ends_with_cancelled_when_the_token_is_requested() -> None:
    token = CancelToken()
    asyncio.get_running_loop().call_soon(token.request)
    with pytest.raises(Cancelled):
        async with interrupted_by(token):
            await asyncio.Event().wait()
    await asyncio.sleep(0)


async def test_a_body_that_cleans_up_keeps_its_result() -> None:
    token, kept = CancelToken(), []
    asyncio.get_running_loop().call_soon(token.request)
    async with interrupted_by(token):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            kept.append("what was done so far")
    assert kept == ["what was done so far"]


async def test_a_cancellation_from_elsewhere_is_not_taken_for_ours() -> None:
    token = CancelToken()

    async def body() -> None:
        async with interrupted_by(token):
            await asyncio.Event().wait()

    task = asyncio.create_task(body())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_already_requested_token_lets_nothing_begin() -> None:
    token, began = CancelToken(), []
    token.request()
    with pytest.raises(Cancelled):
        async with interrupted_by(token):
            began.append(True)
    assert began == []


async def test_a_token_requested_after_the_body_leaves_the_task_alone() -> None:
    token = CancelToken()
    async with interrupted_by(token):
        await asyncio.sleep(0)
    token.request()
    await asyncio.sleep(0)
    assert asyncio.current_task().cancelling() == 0
