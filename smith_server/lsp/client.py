"""What the client at the other end can do, read once from `initialize`."""

import time
from typing import Any

from lsprotocol import types
from msgspec import Struct
from pygls.capabilities import ServerCapabilitiesBuilder

from smith_server.lsp import protocol
from smith_server.workspace.lsp_text import Encoding

_MILLISECONDS = 1000


class Client(Struct, frozen=True):
    """`plugin` is our own front-end; others get standard LSP. `clock_ahead` is its clock less ours in ms."""

    name: str = ""
    plugin: bool = False
    events: bool = False
    apply_edit: bool = False
    encoding: Encoding = "utf-16"
    progress: bool = False
    lens_refresh: bool = False
    show_document: bool = False
    clock_ahead: int = 0
    too_old: bool = False

    def deadline(self, seconds: float) -> int:
        """A moment from now on the client's clock, in Unix ms."""
        return int((time.time() + seconds) * _MILLISECONDS) + self.clock_ahead


def from_initialize(params: types.InitializeParams) -> Client:
    """Read the capabilities that matter here."""
    capabilities = params.capabilities
    own = _own(capabilities.experimental)
    window = capabilities.window
    options: Any = params.initialization_options or {}
    now = own.get("now") or (options.get("now") if isinstance(options, dict) else None)
    spoken = own.get("protocol")
    return Client(
        name=params.client_info.name if params.client_info else "",
        plugin=bool(own),
        events=bool(own.get("events")),
        apply_edit=bool(own.get("applyEdit")),
        encoding=_encoding(capabilities),
        progress=bool(window and window.work_done_progress),
        lens_refresh=_refreshes_lenses(capabilities),
        show_document=bool(window and window.show_document and window.show_document.support),
        clock_ahead=int(now - time.time() * _MILLISECONDS) if isinstance(now, int | float) else 0,
        too_old=bool(own) and not (isinstance(spoken, int) and spoken >= protocol.VERSION),
    )


def _refreshes_lenses(capabilities: types.ClientCapabilities) -> bool:
    workspace = capabilities.workspace
    return bool(workspace and workspace.code_lens and workspace.code_lens.refresh_support)


def _own(experimental: Any) -> dict[str, Any]:
    own = experimental.get("smith") if isinstance(experimental, dict) else getattr(experimental, "smith", None)
    return own if isinstance(own, dict) else {}


def _encoding(capabilities: types.ClientCapabilities) -> Encoding:
    chosen = ServerCapabilitiesBuilder.choose_position_encoding(capabilities)
    return types.PositionEncodingKind(chosen).value
