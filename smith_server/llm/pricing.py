"""Usage × price. What nobody knows the price of has no known cost, which is not the same as none."""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from smith_server.core.account import counted
from smith_server.core.messages import Usage
from smith_server.core.ports import Done, Failed

_MILLION = 1_000_000
_WRITE, _READ = 1.25, 0.1
_HERE = frozenset({"ollama", "local", "scripted"})
_ELSEWHERE = re.compile(r"[-:]cloud$")


class Price(Struct, frozen=True):
    """US dollars per million tokens, for each of the four classes of `Usage`."""

    input: float
    output: float
    cache_write: float
    cache_read: float

    def cost(self, usage: Usage) -> float:
        """What these tokens cost, in US dollars."""
        parts = (
            usage.input * self.input,
            usage.cache_write * self.cache_write,
            usage.cache_read * self.cache_read,
            usage.output * self.output,
        )
        return sum(parts) / _MILLION


FREE = Price(0, 0, 0, 0)


def price_of(table: Mapping[str, float]) -> Price | None:
    """A price as it is written down; None without `input` and `output`.

    Where nothing is said of the cache, writing costs 1.25 times, reading a tenth of `input`.
    """
    if "input" not in table or "output" not in table:
        return None
    fresh = table["input"]
    write, read = table.get("cache_write", fresh * _WRITE), table.get("cache_read", fresh * _READ)
    return Price(fresh, table["output"], write, read)


class Tariff(Struct, frozen=True):
    """What requests of one model cost. `is_own`: a person set `price`, so it goes before what a provider tells."""

    price: Price | None = None
    is_own: bool = False

    def bill(self, answer: Done | Failed) -> Usage:
        """What one request used and cost. Nothing is paid for one that failed before it said anything."""
        used = counted(answer)
        if answer.cost is not None and not self.is_own:
            return replace(used, cost=answer.cost)
        if self.price == FREE or (answer.usage is None and isinstance(answer, Failed) and not answer.parts):
            return used
        if self.price is None or answer.usage is None:
            return replace(used, unpriced=1)
        return replace(used, cost=self.price.cost(used))


def tariff(provider: str, model: str, own: Mapping[str, Mapping[str, float]], known: Mapping[str, float]) -> Tariff:
    """What a model costs: as the person says by `provider/model`, else as is `known`.

    A model that runs on a machine of the person's costs nothing.
    """
    for name in spellings(model):
        price = price_of(own.get(f"{provider}/{name}".lower(), {}))
        if price is not None:
            return Tariff(price, is_own=True)
    if provider in _HERE and not _ELSEWHERE.search(model.lower()):
        return Tariff(FREE)
    return Tariff(price_of(known))


def spellings(model: str) -> Iterator[str]:
    """The names under which facts of a model may stand: its own, in lower case, and without a date at its end."""
    yield from dict.fromkeys((model, model.lower(), re.sub(r"-(\d{8}|\d{4}-\d\d-\d\d)$", "", model.lower())))


def in_dollars(cost: float | None, *, at_least: bool = False) -> str:
    """A cost for people: `n/a` when it is not known, four digits behind the point below ten cents, else two."""
    if cost is None:
        return "n/a"
    if not cost:
        return "$0.00"
    if cost < 0.00005:
        return "<$0.0001"
    return f"{'≥ ' if at_least else ''}${cost:,.{4 if cost < 0.1 else 2}f}"


def cost_of(usage: Usage) -> str:
    """What `usage` cost, for people; `≥` when a part of it is not known."""
    return in_dollars(usage.cost or usage.known_cost, at_least=bool(usage.unpriced))
