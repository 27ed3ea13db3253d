"""The web tools through the real server: asked about, offered only where they can work."""

import json
from typing import Any

import pytest

from tests.e2e.command import smith
from tests.e2e.world import World
from tests.tools.web_server import response, serving


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"call": name, "arguments": arguments}


async def test_a_fetch_is_asked_about_with_the_whole_address_and_a_search_is_not(world: World) -> None:
    found = json.dumps({"results": [{"title": "One", "url": "https://a.example/", "content": "words"}]}).encode()
    pages = {"/page": response(b"<h1>Hi</h1>"), "/search?q=x&format=json": response(found, kind="application/json")}
    async with serving(pages) as site:
        world.settings(f'[web]\nallow_private = true\nsearxng_host = "{site.url}"\n')
        world.script([call("web_search", query="x"), call("web_fetch", url=f"{site.url}/page")], [{"text": "Read."}])
        client = await world.server()
        _, turn = client.command("smith.turn", text="look it up")
        asked = await client.event("approval_asked")
        assert (asked["name"], asked["title"]) == ("web_fetch", f"{site.url}/page")
        await client.run("smith.answer", id=asked["id"], decision="yes")
        assert (await turn)["stop_reason"] == "completed"
    results = {event["name"]: event for event in client.events if event["kind"] == "tool_call_finished"}
    assert results["web_search"]["content"].endswith("1. One\n   https://a.example/\n   words")
    assert results["web_fetch"]["content"].endswith("\n\n# Hi")
    assert [event["name"] for event in client.events if event["kind"] == "approval_asked"] == ["web_fetch"]


@pytest.mark.parametrize(("environ", "offered"), [({}, False), ({"BRAVE_API_KEY": "key-of-brave"}, True)])
async def test_a_search_is_offered_only_where_somebody_searches(
    world: World, environ: dict[str, str], offered: bool
) -> None:
    world.environ |= environ
    world.script([call("nothing")], [{"text": "Well."}])
    done = await smith(world, "run", "--json", "go")
    (result,) = done.only("tool_finished")
    assert ("web_search" in result["result"]) is offered
    assert "web_fetch" in result["result"]
