from tests.e2e.world import World


async def test_a_prompt_is_answered_and_its_events_are_numbered(world: World) -> None:
    world.script([{"text": "Hello there.", "size": 3}])
    client = await world.server()
    answer = await client.run("smith.turn", text="hi")
    assert (answer["stop_reason"], answer["text"]) == ("completed", "Hello there.")
    assert client.text() == "Hello there."
    assert [event["seq"] for event in client.events] == list(range(1, len(client.events) + 1))
    assert client.kinds()[-1] == "turn_completed"
    assert await client.stop() == 0
