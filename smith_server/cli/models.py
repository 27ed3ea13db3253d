"""`smith models`: what the provider offers, with window, limits and price."""

import argparse
import asyncio
import time
from collections.abc import Iterator
from typing import Any, TextIO

import msgspec

from smith_server.cli.log import start_log
from smith_server.cli.run import Headless
from smith_server.cli.start import here, opened, options_from
from smith_server.cli.streams import FAILED, Output, leave
from smith_server.core.errors import AgentFailure
from smith_server.llm.pricing import FREE, Price
from smith_server.runtime.offered import Entry, Offered

_HEAD = ("model", "window", "output", "$ in", "$ out", "$ cached")


def models(words: argparse.Namespace, answers: TextIO) -> int:
    """List them; the exit code. A provider that cannot be asked is no failure: what is known is shown."""
    start_log()
    leave(asyncio.run(_listed(words, Output(answers, lambda problem: None))))


async def _listed(words: argparse.Namespace, output: Output) -> int:
    try:
        async with opened(options_from(words, resume=False), Headless()) as services:
            settings = services.handles.config.settings(here(project=True))
            found = await services.handles.model.offered(settings)
    except AgentFailure as problem:
        output.note(f"smith: {problem.error.message}")
        return FAILED
    if found.problem and found.models:
        output.note(f"smith: {found.problem}\nsmith: {_source(found)}")
    elif found.problem:
        output.note(f"smith: {found.problem}")
    if not found.models and not words.json:
        output.answer(f"none: {_nothing(found)}\n")
        return 0
    lines = map(_json, found.models) if words.json else _table(found.models)
    output.answer("".join(f"{line}\n" for line in lines))
    return 0


def _nothing(found: Offered) -> str:
    """Why there is no model, and what to do."""
    name = found.provider
    if name == "scripted":
        return "the scripted provider answers from its script and has no models."
    if found.problem:
        return f"{name} could not be asked, and nothing is known of it. Name a model with `-m` or `default_model`."
    if name == "ollama":
        return "this Ollama has no model yet. `ollama pull NAME` brings one."
    return f"{name} lists no models. Name one with `-m` or `default_model`."


def _source(found: Offered) -> str:
    if found.at is None:
        return f"{found.provider} could not be asked; these are the models that are known without it."
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(found.at))
    return f"{found.provider} could not be asked; this is what it offered on {day}."


def _json(entry: Entry) -> str:
    price = entry.tariff.price
    line: dict[str, Any] = {
        "model": entry.name,
        "context_window": entry.facts.context_window,
        "max_output_tokens": entry.facts.max_output_tokens,
        "abilities": entry.facts.abilities,
        "price": msgspec.to_builtins(price) if price is not None else None,
    }
    return msgspec.json.encode(line).decode()


def _table(entries: tuple[Entry, ...]) -> Iterator[str]:
    rows = [_HEAD, *(_row(entry) for entry in entries)]
    width = max(len(row[0]) for row in rows)
    for name, *rest in rows:
        yield f"{name:<{width}}" + "".join(f"{each:>12}" for each in rest)
    yield "Prices are in US dollars per million tokens."


def _row(entry: Entry) -> tuple[str, ...]:
    sizes = (entry.facts.context_window, entry.facts.max_output_tokens)
    return (entry.name, *(f"{size:,}" if size else "-" for size in sizes), *_prices(entry.tariff.price))


def _prices(price: Price | None) -> tuple[str, str, str]:
    if price is None:
        return "n/a", "n/a", "n/a"
    if price == FREE:
        return "free", "free", "free"
    return _dollars(price.input), _dollars(price.output), _dollars(price.cache_read)


def _dollars(price: float) -> str:
    return f"{price:.4f}".rstrip("0").rstrip(".")
