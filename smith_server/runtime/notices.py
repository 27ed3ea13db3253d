"""What a person has to know of store, places and settings, told with a conversation."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from smith_server.config.layers import unenforced
from smith_server.core.events import Event, Notice
from smith_server.runtime.handles import Handles

Post = Callable[[str, Event], None]
"""Posts an event of the conversation that is named."""


class Notices:
    """Each sentence is told once in a process, as a warning. `place` is what is to be said of the places on disk."""

    def __init__(self, handles: Handles, place: str, post: Post) -> None:
        self._handles = handles
        self._place = place
        self._post = post
        self._told: set[str] = set()

    def of_opening(self, conversation: str, root: Path, own: Iterable[str]) -> None:
        """Everything there is to say when a conversation is opened, its `own` notes last."""
        warnings = (warning.message for warning in self._handles.persistence.warnings)
        self._tell(conversation, [*warnings, self._place, *self._of_settings(root), *own])

    def of_settings(self, conversation: str, root: Path) -> None:
        """What is wrong with the settings of a project as they are now."""
        self._tell(conversation, self._of_settings(root))

    def _of_settings(self, root: Path) -> Iterator[str]:
        loaded = self._handles.config.loaded(root)
        yield from loaded.problems
        yield from unenforced(loaded)

    def _tell(self, conversation: str, texts: Iterable[str]) -> None:
        for text in texts:
            if text and text not in self._told:
                self._told.add(text)
                self._post(conversation, Notice(level="warning", text=text))
