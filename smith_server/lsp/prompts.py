"""Documents that are prompts: how they are known, what they say, and which place they are about."""

import asyncio
from pathlib import Path
from typing import Any

from lsprotocol import types

from smith_server.core.errors import failure
from smith_server.lsp.arguments import decode
from smith_server.lsp.documents import Document, Documents, path_uri
from smith_server.lsp.link import Link
from smith_server.lsp.protocol import LANGUAGE, PromptArguments, TurnContext
from smith_server.lsp.wire import Arrival

SUFFIX = ".smith"


class PromptDocuments:
    """The open prompt documents of one client. `folder` is where new ones are put."""

    def __init__(self, documents: Documents, link: Link, folder: Path) -> None:
        self._documents = documents
        self._link = link
        self._folder = folder
        self._about: dict[str, TurnContext] = {}

    def get(self, uri: str) -> Document | None:
        """The document if it is a prompt: by its language, else by its name."""
        document = self._documents.get(uri)
        return document if document is not None and _is_prompt(document) else None

    def prompt(self, uri: str) -> tuple[str, TurnContext]:
        """What such a document says, and the place it is about. Raises a `schema` failure for an empty one."""
        document = self._documents.get(uri)
        if document is None or not document.text.strip():
            raise failure("schema", "invalid_arguments", "This document is not open, or there is nothing in it.")
        return document.text.strip(), self._about.get(uri, TurnContext())

    async def open(self, argument: dict[str, Any], arrival: Arrival) -> Any:
        """Make an empty prompt document about a place and have the client show it."""
        args = decode(argument, PromptArguments)
        uri = path_uri(await asyncio.to_thread(_new_file, self._folder))
        self._about[uri] = args.context
        await self._link.ask_plain(
            types.WINDOW_SHOW_DOCUMENT, types.ShowDocumentParams(uri=uri, take_focus=True), seconds=10
        )
        return {"document": uri}


def _is_prompt(document: Document) -> bool:
    return document.language == LANGUAGE or document.uri.endswith(SUFFIX)


def _new_file(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        path = folder / f"prompt-{number}{SUFFIX}"
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            if path.stat().st_size == 0:
                return path
            number += 1
        else:
            return path
