"""What may stand at the cursor of the input: candidates of the runtime for an editing buffer."""

from collections.abc import AsyncGenerator, Awaitable, Callable

from prompt_toolkit.completion import CompleteEvent, Completer
from prompt_toolkit.completion import Completion as Choice
from prompt_toolkit.document import Document

from smith_server.runtime.completion import Completion

Complete = Callable[[str, int], Awaitable[Completion]]
"""From a line and the offset of the cursor in it to what may stand there."""


class LineCompleter(Completer):
    """The same for an editing buffer."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> list[Choice]:
        """Nothing: candidates are waited for."""
        return []

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Choice, None]:
        """Those of the text up to the cursor."""
        found = await self._complete(document.text, document.cursor_position)
        typed = document.text[found.start : found.end]
        for each in found.candidates:
            if each.text.rstrip() != typed:
                yield Choice(each.text, found.start - document.cursor_position, each.text.rstrip(), each.detail)
