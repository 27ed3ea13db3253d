"""What a command was given: its one argument as a struct, and which operation of the command is meant."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from smith_server.core.errors import AgentFailure, failure

T = TypeVar("T")


def decode(argument: dict[str, Any], kind: type[T]) -> T:
    """The argument of a command as its struct. Raises a `schema` failure that names the field."""
    try:
        return msgspec.convert(argument, kind)
    except msgspec.ValidationError as problem:
        raise failure("schema", "invalid_arguments", f"the argument does not fit: {problem}") from None


def chosen(op: str, operations: Mapping[str, T]) -> T:
    """The operation named `op`. Raises schema/`invalid_arguments` naming those there are."""
    if op not in operations:
        raise unknown_operation(op, operations)
    return operations[op]


def unknown_operation(op: str, known: Iterable[str]) -> AgentFailure:
    """The failure schema/`invalid_arguments` for an operation that is none of `known`."""
    return failure("schema", "invalid_arguments", f"op {op!r} is not one of {', '.join(known)}")
