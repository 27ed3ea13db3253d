"""Which call a fragment belongs to. Servers disagree about ids and indexes; this is the one place that knows."""

import msgspec

from smith_server.llm.assemble import Assembly, OpenCall, read_arguments
from smith_server.llm.openai_wire import Fragment, Function


class CallTable:
    """The calls of one reply, found by id, by index, or as the one that is being written."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._by_id: dict[str, OpenCall] = {}
        self._by_index: dict[int, OpenCall] = {}
        self._current: OpenCall | None = None

    def add(self, fragment: Fragment, issuer: str) -> None:
        """Take one fragment in. A later name is ignored; opaque data stays with its call."""
        function = fragment.function or Function()
        name = (function.name or "").strip()
        call = self._owner(fragment, name, function)
        call.name = call.name or name
        _append(call, function)
        if fragment.extra_content is not None:
            call.extra = {"extra_content": fragment.extra_content, "issuer": issuer}
        self._current = call

    def whole(self, fragment: Fragment, issuer: str) -> None:
        """Take in a call that is complete: it is one of its own, whatever its id and index."""
        self._by_id.clear()
        self._by_index.clear()
        self._current = None
        self.add(fragment, issuer)

    def _owner(self, fragment: Fragment, name: str, function: Function) -> OpenCall:
        call_id = (fragment.id or "").strip()
        here = self._by_index.get(fragment.index) if fragment.index is not None else None
        if call_id:
            return self._by_id.get(call_id) or self._for_new_id(call_id, fragment.index, here, name, function)
        if here is not None:
            return self._begin("", fragment.index) if name and _is_another(here, function) else here
        if name or self._current is None:
            return self._begin("", fragment.index)
        return self._current

    def _for_new_id(
        self, call_id: str, index: int | None, here: OpenCall | None, name: str, function: Function
    ) -> OpenCall:
        if name:
            joins = here is not None and not here.id and not _is_another(here, function)
            owner = here if joins else None
        else:
            owner = here if index is not None else self._current
        if owner is None:
            return self._begin(call_id, index)
        owner.id = owner.id or call_id
        self._by_id[call_id] = owner
        return owner

    def _begin(self, call_id: str, index: int | None) -> OpenCall:
        call = OpenCall(call_id)
        self._assembly.call(call)
        if call_id:
            self._by_id[call_id] = call
        if index is not None:
            self._by_index[index] = call
        return call


def _is_another(call: OpenCall, function: Function) -> bool:
    """Whether arguments that come with a name cannot belong to `call`, since its own are complete."""
    return bool(_written(function).strip()) and bool(call.arguments) and _is_complete(call)


def _is_complete(call: OpenCall) -> bool:
    text = call.text
    return bool(text.strip()) and read_arguments(text)[1] == "object"


def _append(call: OpenCall, function: Function) -> None:
    if isinstance(function.arguments, dict):
        call.arguments = [_written(function)]
    elif text := _written(function):
        call.arguments.append(text)


def _written(function: Function) -> str:
    """The arguments of a fragment as text; some servers send them as JSON of their own."""
    arguments = function.arguments
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
