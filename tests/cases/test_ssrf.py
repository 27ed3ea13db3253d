import ipaddress
import json
import os
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from smith_server.core.errors import ToolRefusal
from smith_server.tools.web_guard import Elsewhere, Guard

FILE = Path(os.environ.get("SMITH_CASES_DIR", Path(__file__).parent)) / "ssrf.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()] if FILE.exists() else []


class World:
    """Names and web servers as a case has them; remembers what was dialled."""

    def __init__(self, given):
        self.given = given
        self.asked = []
        self.looked_up = []

    async def resolve(self, host):
        again = host in self.looked_up
        self.looked_up.append(host)
        names = self.given.get("dns", {})
        if len(self.asked) and "dns_after_redirect" in self.given:
            names = self.given["dns_after_redirect"]
        elif again:
            names = self.given.get("dns_second", names)
        return names.get(host, [])

    @asynccontextmanager
    async def ask(self, target, addresses):
        redirects = self.given.get("redirects", [])
        place = len(self.asked)
        self.asked.append(addresses)
        if place < len(redirects):
            yield SimpleNamespace(status=302, headers={"location": redirects[place]})
        else:
            yield SimpleNamespace(status=200, headers={})


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
async def test_ssrf(case, monkeypatch):
    for name, value in case["input"].get("env", {}).items():
        monkeypatch.setenv(name, value)
    world = World(case["input"])
    guard = Guard(world.ask, world.resolve, allow_private=case["input"].get("allow_private", False))
    try:
        async with guard.open(case["input"]["url"]) as page:
            decision = "reported" if isinstance(page, Elsewhere) else "allowed"
    except ToolRefusal:
        decision = "refused"
    assert decision == case["expected"]["decision"]
    if decision == "allowed":
        dialled = [ipaddress.ip_address(address) for address in world.asked[-1]]
        assert dialled == [ipaddress.ip_address(address) for address in case["expected"]["connect_to"]]
