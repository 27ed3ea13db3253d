"""Dicts and lists that cannot be changed and still are dicts and lists, so that they encode like any other."""

from typing import Any, NoReturn


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise TypeError("This is a snapshot; it cannot be changed.")


_refused: Any = _refuse


class FrozenDict(dict[Any, Any]):
    """A dict that raises `TypeError` when it is written to. `copy` gives a plain dict."""

    __setitem__ = __delitem__ = __ior__ = _refused
    clear = pop = popitem = setdefault = update = _refused

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, (dict(self),)


class FrozenList(list[Any]):
    """A list that raises `TypeError` when it is written to. `copy` gives a plain list."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refused
    append = clear = extend = insert = pop = remove = reverse = sort = _refused

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, (list(self),)


def freeze(value: Any) -> Any:
    """A copy of `value` in which every dict and list, however deep, is frozen; what is frozen already is kept.

    Later changes of the source do not show. A value that holds itself is copied with its circle.
    """
    return _frozen(value, {})


def _frozen(value: Any, seen: dict[int, Any]) -> Any:
    if not isinstance(value, dict | list) or isinstance(value, FrozenDict | FrozenList):
        return tuple(_frozen(each, seen) for each in value) if type(value) is tuple else value
    if id(value) in seen:
        return seen[id(value)]
    if isinstance(value, dict):
        made = seen[id(value)] = FrozenDict()
        for key, each in value.items():
            dict.__setitem__(made, key, _frozen(each, seen))
        return made
    row = seen[id(value)] = FrozenList()
    for each in value:
        list.append(row, _frozen(each, seen))
    return row


def thaw(value: Any) -> Any:
    """A copy in which every dict and list is a plain one again."""
    if isinstance(value, dict):
        return {key: thaw(each) for key, each in value.items()}
    return [thaw(each) for each in value] if isinstance(value, list | tuple) else value
