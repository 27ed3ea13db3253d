"""What a start does not need, imported with its first call.

For the seams where parts are put together, and only for parts that most runs never use: `late` stands where the
function or the class would. `tests/architecture/test_startup.py` lists what a start must not load.
"""

from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import Any


def late(place: str) -> Callable[..., Any]:
    """The function or class at `place`, written `module:name` (a dotted name too), as something to call.

    Types are lost on the way: where they matter, the caller declares what it takes and gives.
    """
    module, _, name = place.partition(":")

    def called(*given: Any, **named: Any) -> Any:
        return attrgetter(name)(import_module(module))(*given, **named)

    return called
