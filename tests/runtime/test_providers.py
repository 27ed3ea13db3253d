import asyncio

from smith_server.config.schema import LlmConfig, Settings
from smith_server.core.events import Event
from smith_server.runtime.providers import Providers


async def test_warming_asks_a_server_on_this_machine_nothing() -> None:
    asked: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.read(1))
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = Settings(llm_config=LlmConfig(api_url=f"http://127.0.0.1:{port}/v1", model="m"))
    providers, events = Providers({}), list[Event]()
    await providers.warm(settings)
    provider, model = await providers.pick(settings, "", "direct", events.append)
    assert (provider.name, model, asked) == ("custom", "m", [])
    await providers.close()
    server.close()


async def test_warming_an_address_that_is_none_is_no_matter() -> None:
    providers = Providers({})
    await providers.warm(Settings(llm_config=LlmConfig(api_url="http://localhost:none/v1")))
    await providers.close()
