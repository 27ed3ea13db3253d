"""Which service searches, and through what pages are fetched: made of the settings and the environment."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from smith_server.config.schema import Settings
from smith_server.core.late import late
from smith_server.tools.registry import Web
from smith_server.tools.web_engines import Brave, Engine, Linkup, SearXNG, Tavily
from smith_server.tools.web_search import WebSearch

if TYPE_CHECKING:
    from smith_server.tools.web_guard import Ask

_guard = late("smith_server.tools.web_guard:Guard")
_LINKUP_KEY = "LINKUP_API_KEY"


def web(settings: Settings, environ: Mapping[str, str], wire: "Ask") -> Web:
    """The web as these settings have it."""
    engine = engine_of(settings, environ)
    own = settings.services.tool.web_search
    search = WebSearch(engine, own.max_results or 5, own.timeout or 30.0) if engine is not None else None
    return Web(partial(_guard, wire, allow_private=settings.web.allow_private), settings.web.max_bytes, search)


def engine_of(settings: Settings, environ: Mapping[str, str]) -> Engine | None:
    """The search service that was named, or the first that has what it needs; None when there is none."""
    known = _engines(settings, environ)
    if settings.web.search_provider != "auto":
        return known.get(settings.web.search_provider)
    with_key = next((known[name] for name in ("linkup", "brave", "tavily") if not known[name].missing), None)
    return with_key or (known["searxng"] if settings.web.searxng_host else None)


def _engines(settings: Settings, environ: Mapping[str, str]) -> Mapping[str, Engine]:
    own = settings.services.tool.web_search
    variable = own.api_key_env or _LINKUP_KEY
    linkup = Linkup(environ.get(variable, ""), variable)
    return {
        "linkup": Linkup(
            linkup.key,
            variable,
            own.endpoint or linkup.address,
            own.depth or linkup.depth,
            own.output_type or linkup.output_type,
        ),
        "brave": Brave(environ.get("BRAVE_API_KEY", "")),
        "tavily": Tavily(environ.get("TAVILY_API_KEY", "")),
        "searxng": SearXNG(settings.web.searxng_host or SearXNG().address),
    }
