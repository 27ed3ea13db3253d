"""Which key does what. Names of actions stand in `Actions`; everything else is line editing as in Emacs."""

from collections.abc import Callable
from typing import Protocol

from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.keys import Keys

from smith_server.tui.approval import DECISIONS


class Actions(Protocol):
    """What the keys call."""

    def pages(self) -> bool:
        """Whether the pager has the screen."""

    def asks(self) -> bool:
        """Whether the question has the keys."""

    def is_asked(self) -> bool:
        """Whether there is a question."""

    def turn_page(self, key: str, text: str) -> None: ...
    def answer(self, decision: str) -> None: ...
    def view(self) -> None: ...
    def move(self) -> None: ...
    def insert(self, text: str) -> None: ...
    def newline(self) -> None: ...
    def enter(self) -> None: ...
    def complete(self, *, back: bool = False) -> None: ...
    def escape(self) -> None: ...
    def interrupt(self) -> None: ...
    def end_of_input(self) -> None: ...
    def redraw(self) -> None: ...
    def suspend(self) -> None: ...
    def show_transcript(self) -> None: ...
    def show_messages(self) -> None: ...


def bindings(actions: Actions) -> KeyBindings:
    """The keys of a session."""
    keys = KeyBindings()
    _pager(keys, actions)
    _panel(keys, actions)
    _input(keys, actions)
    return keys


def _pager(keys: KeyBindings, actions: Actions) -> None:
    pages = Condition(actions.pages)

    @keys.add(Keys.Any, filter=pages)
    @keys.add("escape", filter=pages)
    def turn(event: KeyPressEvent) -> None:
        pressed = event.key_sequence[-1]
        name = pressed.key.value if isinstance(pressed.key, Keys) else pressed.key
        actions.turn_page(name, pressed.data)

    @keys.add("escape", "h", filter=pages)
    @keys.add("escape", "i", filter=pages)
    def close(event: KeyPressEvent) -> None:
        actions.turn_page("q", "")


def _panel(keys: KeyBindings, actions: Actions) -> None:
    asks = Condition(actions.asks)
    for letter, decision in DECISIONS.items():
        for key in (letter, letter.upper()):
            keys.add(key, filter=asks)(_answering(actions, decision))

    keys.add("v", filter=asks)(lambda event: actions.view())

    @keys.add(Keys.Any, filter=asks)
    @keys.add(Keys.BracketedPaste, filter=asks)
    def type_text(event: KeyPressEvent) -> None:
        actions.move()
        actions.insert(event.data)

    @keys.add("enter", filter=asks)
    def ignore(event: KeyPressEvent) -> None:
        """Nothing: a person who sends a text must not answer with it."""

    @keys.add("tab", filter=Condition(actions.is_asked) & ~Condition(actions.pages))
    def move(event: KeyPressEvent) -> None:
        actions.move()


def _answering(actions: Actions, decision: str) -> Callable[[KeyPressEvent], None]:
    return lambda event: actions.answer(decision)


def _input(keys: KeyBindings, actions: Actions) -> None:
    below = ~Condition(actions.pages)
    typing = below & ~Condition(actions.asks)
    keys.add("enter", filter=typing)(lambda event: actions.enter())
    keys.add("escape", "enter", filter=typing)(lambda event: actions.newline())
    keys.add("c-j", filter=typing)(lambda event: actions.newline())
    keys.add("tab", filter=typing & ~Condition(actions.is_asked))(lambda event: actions.complete())
    keys.add("s-tab", filter=typing)(lambda event: actions.complete(back=True))
    keys.add("c-d", filter=below)(lambda event: actions.end_of_input())
    keys.add("escape", filter=below)(lambda event: actions.escape())
    keys.add("c-c", filter=below)(lambda event: actions.interrupt())
    keys.add("c-l", filter=below)(lambda event: actions.redraw())
    keys.add("c-z", filter=below)(lambda event: actions.suspend())
    keys.add("escape", "h", filter=below)(lambda event: actions.show_transcript())
    keys.add("escape", "i", filter=below)(lambda event: actions.show_messages())

    @keys.add(Keys.BracketedPaste, filter=typing)
    def paste(event: KeyPressEvent) -> None:
        actions.insert(event.data)
