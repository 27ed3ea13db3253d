"""Conversations over the wire, without a plug-in: listed, paged, renamed, copied, moved, removed."""

import asyncio
import shutil
import sqlite3
from typing import Any

import pytest

from tests.e2e.client import Client, RpcError
from tests.e2e.test_dispatch import call, dispatch, report
from tests.e2e.world import World

GOOD = [{"text": "All is well."}]


async def conversations(client: Client, op: str, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await client.run("smith.conversations", op=op, **more)
    return answer


async def refused(client: Client, name: str, **argument: Any) -> tuple[str, str]:
    with pytest.raises(RpcError) as caught:
        await client.run(name, **argument)
    return caught.value.data["kind"], caught.value.data["code"]


def told(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What a face draws of events: kind, whose they are, and the text or name in them."""
    shown = []
    for event in events:
        whose = tuple(event.get(name, "") for name in ("turn", "job", "call", "role", "parent"))
        what = tuple(event.get(name, "") for name in ("text", "name", "child", "task", "status", "summary", "diff"))
        if event["kind"] == "message_added":
            what = (event["message"]["id"], event["message"]["role"])
        shown.append((event["kind"], *whose, what))
    return shown


def stored_kinds(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Live events without those that say nothing of the conversation itself, neighbouring deltas joined."""
    passing = ("session_started", "usage_updated", "tool_call_progress")
    kept: list[dict[str, Any]] = []
    deltas = ("llm_output_delta", "llm_reasoning_delta")
    for event in events:
        if event["kind"] in passing or event["kind"].startswith(("approval", "llm_request", "llm_retry")):
            continue
        last = kept[-1] if kept else {}
        if event["kind"] in deltas and (event["kind"], event["message"]) == (last.get("kind"), last.get("message")):
            kept[-1] = {**last, "text": last["text"] + event["text"]}
        else:
            kept.append(event)
    return kept


async def test_a_resumed_chat_is_told_as_it_was_children_inside_their_calls(world: World) -> None:
    world.settings('active_role = "orchestrator"\n')
    world.file("a.py", "one\n")
    world.script(
        [{"thinking": "Hm."}, {"text": "I send one.", "size": 4}, dispatch("worker", "do a")],
        [{"text": "Done."}],
        GOOD,
        others={
            "look at a": [[call("read", path="a.py")], report(findings=["one line"], evidence=["a.py:1"])],
            "do a": [
                [{"text": "First a look."}, dispatch("explorer", "look at a")],
                report(changes="none", verification=[]),
            ],
        },
    )
    client = await world.server()
    await client.run("smith.turn", text="tidy up")
    live = stored_kinds(client.events)
    await client.stop()
    again = await world.server()
    loaded = await conversations(again, "load")
    assert told(loaded["events"]) == told(live)
    assert {event["parent"] for event in loaded["events"] if event.get("parent")} == {
        event["job"] for event in live if event.get("role") == "worker"
    }
    ends = [event["usage"] for event in (live[-1], loaded["events"][-1])]
    assert ends[0] == ends[1]
    assert loaded["events"][-1]["kind"] == "turn_completed"
    listed = await again.run("smith.inspect", op="list")
    worker, explorer = listed["jobs"]
    assert (worker["depth"], explorer["depth"], explorer["parent"]) == (1, 2, worker["id"])
    own = await again.run("smith.inspect", op="list", job=explorer["id"])
    assert [each["role"] for each in own["messages"]] == ["user", "assistant", "tool", "assistant", "tool"]


async def test_a_conversation_is_read_page_by_page_and_whole_turns_stay_together(world: World) -> None:
    world.script([call("read", path="a.py")], GOOD, [{"text": "two"}], [{"error": {"code": "bad_request"}}])
    world.file("a.py", "one\n")
    client = await world.server()
    for text in ("first", "second", "third"):
        await client.run("smith.turn", text=text)
    live = stored_kinds(client.events)
    newest = await conversations(client, "load", limit=3)
    older = await conversations(client, "page", conversation=newest["conversation"], limit=1, before=newest["before"])
    assert [event["turn"] for event in newest["events"] if event["kind"] == "turn_started"] == ["t000002", "t000003"]
    assert "before" not in older
    assert told([*older["events"], *newest["events"]]) == told(live)
    errors = [(event["error"]["kind"], event["error"]["code"]) for event in (newest["events"][-1], live[-1])]
    assert errors == [(errors[0][0], "bad_request")] * 2
    assert newest["seq"] == client.events[-1]["seq"]


async def test_loading_while_a_turn_runs_leaves_nothing_out_and_says_nothing_twice(world: World) -> None:
    words = "".join(f"word {number}. " for number in range(120))
    world.script([{"text": words, "size": 6, "delay": 0.004}, call("bash", command="true")], GOOD)
    client = await world.server()
    turn = asyncio.ensure_future(client.run("smith.turn", text="go"))
    await client.event("llm_output_delta")
    for _ in range(5):
        loaded = await conversations(client, "load")
        assert loaded["busy"] is True
        so_far = "".join(event["text"] for event in loaded["events"] if event["kind"] == "llm_output_delta")
        before = "".join(
            event["text"]
            for event in client.events
            if event["kind"] == "llm_output_delta" and event["seq"] <= loaded["seq"]
        )
        assert so_far == before != ""
    asked = await client.event("approval_asked")
    loaded = await conversations(client, "load")
    assert [event["id"] for event in loaded["events"] if event["kind"] == "approval_asked"] == [asked["id"]]
    await client.run("smith.answer", id=asked["id"], decision="no")
    await turn


async def test_conversations_are_listed_a_page_at_a_time(world: World) -> None:
    world.script(GOOD, loop=True)
    client = await world.server()
    names = []
    for text in ("a", "b", "c"):
        names.append((await conversations(client, "new"))["conversation"])
        await client.run("smith.turn", text=text, conversation=names[-1])
    first = await conversations(client, "list", limit=2)
    second = await conversations(client, "list", limit=2, cursor=first["next"])
    rows = [*first["conversations"], *second["conversations"]]
    assert [(row["id"], row["title"], row["message_count"]) for row in rows] == [
        (name, text, 2) for name, text in zip(names[::-1], "cba", strict=True)
    ]
    assert "next" not in second
    renamed = await conversations(client, "rename", conversation=names[0], title=" first ")
    assert renamed == {"conversation": names[0], "title": "first"}
    assert (await conversations(client, "list"))["conversations"][-1]["title"] == "first"
    event = await client.event("conversation_changed")
    assert (event["conversation"], event["change"], event["title"]) == (names[0], "renamed", "first")
    assert await refused(client, "smith.conversations", op="rename", conversation=names[0]) == (
        "schema",
        "invalid_arguments",
    )
    assert await refused(client, "smith.conversations", op="eat") == ("schema", "invalid_arguments")


async def test_a_fork_goes_on_by_itself_and_ends_where_it_was_told_to(world: World) -> None:
    world.script(GOOD, loop=True)
    client = await world.server()
    first = await client.run("smith.turn", text="one")
    await client.run("smith.turn", text="two")
    forked = await conversations(client, "fork", message="t000001.0002")
    assert forked["conversation"] != first["conversation"]
    assert [event["text"] for event in forked["events"] if event["kind"] == "turn_started"] == ["one"]
    assert forked["events"][-1]["kind"] == "turn_completed"
    await client.run("smith.turn", text="three", conversation=forked["conversation"])
    texts = [
        [each["text"] for each in (await client.run("smith.inspect", conversation=name))["messages"] if "text" in each]
        for name in (first["conversation"], forked["conversation"])
    ]
    assert texts == [["one", "two"], ["one", "three"]]
    assert await refused(client, "smith.conversations", op="fork", message="t000009.0001") == ("schema", "not_found")


async def test_a_deleted_conversation_is_gone_and_another_one_takes_its_place(world: World) -> None:
    world.script([{"wait": 60}], GOOD)
    client = await world.server()
    turn = asyncio.ensure_future(client.run("smith.turn", text="one"))
    name = (await client.event("llm_request_started"))["conversation"]
    assert await refused(client, "smith.conversations", op="delete", conversation=name) == ("policy", "turn_active")
    await client.run("smith.cancel")
    await turn
    answer = await conversations(client, "delete", conversation=name)
    assert (answer["deleted"], answer["events"]) == (name, [])
    assert answer["conversation"] != name
    assert [event["change"] for event in client.events if event["kind"] == "conversation_changed"] == ["deleted"]
    assert (await conversations(client, "list"))["conversations"] == []
    assert await refused(client, "smith.conversations", op="load", conversation=name) == ("schema", "not_found")
    assert await refused(client, "smith.conversations", op="delete", conversation=name) == ("schema", "not_found")
    after = await client.run("smith.turn", text="two")
    assert (after["conversation"], after["text"]) == (answer["conversation"], "All is well.")
    await client.stop()
    with sqlite3.connect(world.home / "smith" / "smith.db") as connection:
        rows = connection.execute("SELECT DISTINCT conversation FROM message").fetchall()
        assert rows == [(answer["conversation"],)]


async def test_a_conversation_of_another_root_works_there_or_moves_here(world: World) -> None:
    world.script([call("bash", command="pwd")], GOOD, loop=True)
    world.settings('[approval]\nmode = "auto"\n')
    client = await world.server()
    name = (await client.run("smith.turn", text="one"))["conversation"]
    await client.stop()
    home, world.root = world.root, world.home / "other"
    (world.root / ".git").mkdir(parents=True)
    other = await world.server()
    loaded = await conversations(other, "load", conversation=name)
    assert loaded["root"] == str(home)
    assert (await conversations(other, "list"))["conversations"] == []
    assert [row["id"] for row in (await conversations(other, "list", all=True))["conversations"]] == [name]
    await other.run("smith.turn", text="two", conversation=name)
    assert home.name in (await other.event("tool_call_finished"))["content"]
    moved = await conversations(other, "load", conversation=name, here=True)
    assert moved["root"] == str(world.root)
    await other.run("smith.turn", text="three", conversation=name)
    assert str(world.root) in (await other.event("tool_call_finished", turn="t000003"))["content"]
    said = [
        each["content"].get("text", "") for each in (await other.run("smith.inspect", conversation=name))["messages"]
    ]
    assert "three" in said
    assert [text for text in said if text.startswith("[This conversation was moved from ")] != []
    assert [row["id"] for row in (await conversations(other, "list"))["conversations"]] == [name]
    await other.stop()


async def test_a_conversation_whose_folder_is_gone_says_so_and_can_be_moved(world: World) -> None:
    world.script(GOOD, loop=True)
    client = await world.server()
    name = (await client.run("smith.turn", text="one"))["conversation"]
    await client.stop()
    gone, world.root = world.root, world.home / "other"
    (world.root / ".git").mkdir(parents=True)
    shutil.rmtree(gone)
    other = await world.server()
    for op in ("load", "fork"):
        assert await refused(other, "smith.conversations", op=op, conversation=name) == ("policy", "root_gone")
    moved = await conversations(other, "load", conversation=name, here=True)
    assert (moved["root"], moved["events"][0]["text"]) == (str(world.root), "one")


async def test_a_server_goes_on_with_the_conversation_that_it_was_started_for_wherever_that_belongs(
    world: World,
) -> None:
    world.script(GOOD, loop=True)
    first = await world.server()
    name = (await first.run("smith.turn", text="one"))["conversation"]
    fresh = (await conversations(first, "new"))["conversation"]
    await first.run("smith.turn", text="two")
    await first.stop()
    home, elsewhere = world.root, world.home / "other"
    (elsewhere / ".git").mkdir(parents=True)
    for root, resume, expected in ((home, "project", fresh), (home, name, name), (elsewhere, name[:8], name)):
        world.root = root
        client = await world.server(initializationOptions={"resume": resume})
        loaded = await conversations(client, "load")
        assert (loaded["conversation"], loaded["root"]) == (expected, str(home))
        assert (await client.run("smith.turn", text="on"))["conversation"] == expected
        await client.stop()


async def test_a_begin_that_fits_several_is_an_error_that_lists_them(world: World) -> None:
    world.script(GOOD, loop=True)
    first = await world.server()
    shared = ""
    while not shared:
        await first.run("smith.turn", text="one")
        await conversations(first, "new")
        ids = [each["id"] for each in (await conversations(first, "list", limit=100))["conversations"]]
        shared = next((each[0] for each in ids if sum(other[0] == each[0] for other in ids) > 1), "")
    alike = sorted(each for each in ids if each.startswith(shared))
    await first.stop()
    client = await world.server(initializationOptions={"resume": shared})
    with pytest.raises(RpcError) as caught:
        await conversations(client, "load")
    assert (caught.value.data["code"], caught.value.data["data"]["ids"]) == ("ambiguous", alike)
    assert all(f"  {each[:8]}" in caught.value.data["message"] for each in alike)
    assert (await conversations(client, "load"))["conversation"] not in ids


async def test_a_turn_that_was_cancelled_before_any_text_is_told_as_cancelled_to_whoever_comes_later(
    world: World,
) -> None:
    world.script([{"wait": 60}], [{"thinking": "Hm."}, {"wait": 60}])
    first = await world.server()
    for number in (1, 2):
        turn = asyncio.ensure_future(first.run("smith.turn", text=f"{number}"))
        await first.event("llm_request_started", turn=f"t{number:06}")
        await first.run("smith.cancel")
        await turn
    expected = [(turn, kind) for turn in ("t000001", "t000002") for kind in ("turn_started", "turn_cancelled")]

    def ends(loaded: dict[str, Any]) -> list[tuple[str, str]]:
        return [(each["turn"], each["kind"]) for each in loaded["events"] if each["kind"].startswith("turn_")]

    again = await conversations(first, "load")
    copy = await conversations(first, "fork")
    await first.stop()
    second = await world.server()
    later = await conversations(second, "load", conversation=again["conversation"])
    assert (ends(again), ends(copy), ends(later)) == (expected, expected, expected)


async def test_a_chat_without_a_model_is_told_so_when_it_is_opened_and_what_to_do(world: World) -> None:
    world.environ["OLLAMA_HOST"] = "127.0.0.1:1"
    client = await world.server()
    opened = await conversations(client, "load")
    notice = await client.event("notice")
    assert (notice["conversation"], notice["level"]) == (opened["conversation"], "warning")
    for way in ("OPENROUTER_API_KEY", "ollama serve", "llm_config.api_url", "/model", "tools/try demo"):
        assert way in notice["text"]


async def test_a_server_that_was_started_for_what_is_not_stored_begins_anew_and_says_so(world: World) -> None:
    world.script(GOOD, loop=True)
    client = await world.server(initializationOptions={"resume": "nothing"})
    await client.run("smith.turn", text="one")
    assert "no conversation 'nothing'" in (await client.event("notice"))["text"]
    await client.run("smith.turn", text="two")
    assert len((await conversations(client, "list"))["conversations"]) == 1


async def test_a_chat_that_opens_while_the_small_model_starts_is_told_so(world: World) -> None:
    world.slow_small_model()
    client = await world.server()
    opened = await conversations(client, "load")
    notice = await client.event("notice")
    assert (notice["conversation"], notice["level"], notice["text"]) == (
        opened["conversation"],
        "info",
        "Starting the small model on this machine, which takes some seconds.",
    )
