import msgspec
import pytest

from smith_server.config.schema import Settings
from smith_server.runtime.web import engine_of, web
from smith_server.tools.web_engines import Brave, Linkup, SearXNG, Tavily
from smith_server.tools.web_http import Wire

KEYS = {"LINKUP_API_KEY": "l", "BRAVE_API_KEY": "b", "TAVILY_API_KEY": "t"}


def settings(**web):
    return msgspec.convert({"web": web}, Settings)


@pytest.mark.parametrize(
    ("given", "environ", "engine"),
    [
        ({}, {}, None),
        ({}, KEYS, Linkup("l")),
        ({}, {"BRAVE_API_KEY": "b", "TAVILY_API_KEY": "t"}, Brave("b")),
        ({}, {"TAVILY_API_KEY": "t"}, Tavily("t")),
        ({"searxng_host": "http://search.lan"}, {}, SearXNG("http://search.lan")),
        ({"searxng_host": "http://search.lan"}, KEYS, Linkup("l")),
        ({"search_provider": "none"}, KEYS, None),
        ({"search_provider": "tavily"}, KEYS, Tavily("t")),
        ({"search_provider": "brave"}, {}, Brave()),
        ({"search_provider": "searxng"}, {}, SearXNG()),
    ],
    ids=["nothing", "all keys", "two keys", "one key", "host", "host and keys", "none", "named", "no key", "no host"],
)
def test_the_search_service_is_the_one_that_is_named_or_the_first_that_can_be_used(given, environ, engine):
    assert engine_of(settings(**given), environ) == engine
    assert (web(settings(**given), environ, Wire()).search is None) == (engine is None)


def test_the_values_of_linkup_can_be_replaced():
    own = {"api_key_env": "MINE", "endpoint": "http://x/y", "depth": "deep", "output_type": "sourcedAnswer"}
    made = msgspec.convert({"services": {"tool": {"web_search": own}}}, Settings)
    engine = Linkup("m", "MINE", "http://x/y", "deep", "sourcedAnswer")
    assert engine_of(made, {"MINE": "m", "LINKUP_API_KEY": "l"}) == engine
    assert engine_of(made, {"LINKUP_API_KEY": "l"}) is None
