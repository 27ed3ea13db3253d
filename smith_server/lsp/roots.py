"""The folders of the client, and which project a file belongs to."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types

from smith_server.config.paths import project_root
from smith_server.lsp.documents import uri_path


class Roots:
    """The workspace folders; they come and go."""

    def __init__(self, folders: Sequence[Path], fallback: Path) -> None:
        self._folders = list(folders)
        self._fallback = fallback

    def first(self) -> Path:
        """The project of a turn that names no file."""
        return project_root(self._folders[0] if self._folders else self._fallback)

    def of(self, path: Path | None) -> Path | None:
        """The deepest folder that holds `path`, or None."""
        if path is None:
            return None
        holding = [folder for folder in self._folders if path.is_relative_to(folder)]
        return project_root(max(holding, key=lambda folder: len(folder.parts))) if holding else None

    def changed(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        """Take in `workspace/didChangeWorkspaceFolders`."""
        gone = {uri_path(folder.uri) for folder in params.event.removed}
        self._folders = [folder for folder in self._folders if folder not in gone]
        self._folders += [path for folder in params.event.added if (path := uri_path(folder.uri)) is not None]


def folders_of(params: types.InitializeParams) -> list[Path]:
    """The folders that `initialize` names, in the form the client has them."""
    uris: list[Any] = [folder.uri for folder in params.workspace_folders or ()]
    if not uris and params.root_uri:
        uris = [params.root_uri]
    paths = [path for uri in uris if (path := uri_path(uri)) is not None]
    if not paths and params.root_path:
        paths = [Path(params.root_path)]
    return paths
