"""Which service searches, and through what pages are fetched: made of the settings and the environment."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from smith_server.config.schema import Settings
from smith_server.core.late import late
from smith_server.tools.registry import Web

if TYPE_CHECKING:
    from smith_server.tools.web_engines import Engine
    from smith_server.tools.web_guard import Ask
    from smith_server.tools.web_search import WebSearch

_guard = late("smith_server.tools.web_guard:Guard")
_search: "Callable[..., WebSearch]" = late("smith_server.tools.web_search:WebSearch")
_linkup: "Callable[..., Engine]" = late("smith_server.tools.web_engines:Linkup")
_brave: "Callable[..., Engine]" = late("smith_server.tools.web_engines:Brave")
_tavily: "Callable[..., Engine]" = late("smith_server.tools.web_engines:Tavily")
_searxng: "Callable[..., Engine]" = late("smith_server.tools.web_engines:SearXNG")


def web(settings: Settings, environ: Mapping[str, str], wire: "Ask") -> Web:
    """The web as these settings have it."""
    engine = engine_of(settings, environ)
    own = settings.services.tool.web_search
    search = _search(engine, own.max_results or 5, own.timeout or 30.0) if engine is not None else None
    return Web(partial(_guard, wire, allow_private=settings.web.allow_private), settings.web.max_bytes, search)


def engine_of(settings: Settings, environ: Mapping[str, str]) -> "Engine | None":
    """The search service that was named, or the first that has what it needs; None when there is none."""
    own = settings.services.tool.web_search
    variables = {
        "linkup": own.api_key_env or "LINKUP_API_KEY",
        "brave": "BRAVE_API_KEY",
        "tavily": "TAVILY_API_KEY",
    }
    name: str = settings.web.search_provider
    if name == "auto":
        name = next((each for each, variable in variables.items() if environ.get(variable)), "")
        name = name or ("searxng" if settings.web.searxng_host else "")
    key = environ.get(variables.get(name, ""), "")
    match name:
        case "linkup":
            wishes = {"address": own.endpoint, "depth": own.depth, "output_type": own.output_type}
            return _linkup(key, variables[name], **{wish: value for wish, value in wishes.items() if value})
        case "brave":
            return _brave(key)
        case "tavily":
            return _tavily(key)
        case "searxng":
            return _searxng(settings.web.searxng_host) if settings.web.searxng_host else _searxng()
    return None
