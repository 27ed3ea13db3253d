"""How long a process waits before a request goes out again."""

import json
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from smith_server.core.events import Envelope, RequestRetried
from smith_server.runtime.line import Prompt
from tests.runtime.test_composition import opened, options_in

LEAST = 40
BUSY = [{"error": {"code": "rate_limited"}}]


def job(name: str) -> dict[str, Any]:
    return {"call": "dispatch", "arguments": {"role": "explorer", "task": f"look at {name}"}}


def work() -> list[list[dict[str, Any]]]:
    report = {"status": "ok", "summary": "seen", "findings": [], "evidence": []}
    return [BUSY, BUSY, [{"call": "report", "arguments": report}]]


async def waits(folder: Path, seed: int) -> dict[str, list[int]]:
    """The waits of each of two children who are refused twice, milliseconds by the child's task."""
    options = options_in(folder, chance=Random(seed).random)
    script = {"replies": [[job("a"), job("b")], [{"text": "Done."}]], "others": {"at a": work(), "at b": work()}}
    (folder / "script.json").write_text(json.dumps(script))
    flags = {**options.flags, "active_role": "orchestrator", "llm_config": {"retry_backoff_ms": [LEAST]}}
    services = await opened(msgspec.structs.replace(options, flags=flags))
    told: dict[str, list[int]] = {}

    def hear(envelope: Envelope) -> None:
        if isinstance(envelope.event, RequestRetried):
            told.setdefault(envelope.job, []).append(envelope.event.delay_ms)

    services.bus.subscribe(hear)
    session = await services.sessions.get("", folder)
    outcome = await (await session.submit(Prompt("go"))).done
    await services.close()
    assert outcome.text == "Done.", outcome
    return told


async def test_children_who_are_refused_at_once_come_back_each_in_their_own_time(tmp_path: Path) -> None:
    told = await waits(tmp_path, seed=3)
    first, second = told.values()
    assert len(first) == len(second) == 2
    assert set(first).isdisjoint(second)
    assert all(LEAST <= wait <= LEAST * 1.25 for wait in (*first, *second))


async def test_the_same_seed_makes_the_same_waits(tmp_path: Path) -> None:
    told = [await waits(tmp_path / name, seed=3) for name in ("one", "two")]
    assert sorted(told[0].values()) == sorted(told[1].values())
