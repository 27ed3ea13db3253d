"""A provider that takes nothing but a perfect history: what it would refuse in the body of a request."""

import re
from collections.abc import Collection
from itertools import pairwise
from typing import Any

from smith_server.llm.presets import Preset

MARK = '"cache_control"'


def refusal(body: dict[str, Any], preset: Preset, own: Collection[str] = ()) -> str:
    """Why a body is refused, or "". `own` are the signatures and opaque data that this provider gave."""
    if preset.dialect == "anthropic":
        return _anthropic(body["messages"], set(own))
    return _openai(body["messages"], set(own), preset.compat.longest_call_id or 1000)


def _openai(messages: list[dict[str, Any]], own: set[str], longest: int) -> str:
    talk = [each for each in messages if each["role"] != "system"]
    if talk[0]["role"] != "user":
        return "the first message is not the user's"
    seen: set[str] = set()
    awaited: list[str] = []
    for each in talk:
        if each["role"] == "tool":
            if each["tool_call_id"] not in awaited:
                return f"a result without a call: {each['tool_call_id']}"
            awaited.remove(each["tool_call_id"])
            continue
        if awaited:
            return f"no result for {awaited}"
        if each["role"] == "assistant":
            awaited = [call["id"] for call in each.get("tool_calls", ())]
            if problem := _reply_problem(each, awaited, own):
                return problem
            if seen & set(awaited) or not all(0 < len(name) <= longest for name in awaited):
                return f"bad ids {awaited}"
            seen |= set(awaited)
        elif not _texts(each["content"]):
            return "an empty message"
    return f"no result for {awaited}" if awaited else ""


def _reply_problem(reply: dict[str, Any], ids: list[str], own: set[str]) -> str:
    if len(ids) != len(set(ids)):
        return f"an id twice: {ids}"
    if not ids and not (reply["content"] or "").strip():
        return "an empty reply"
    told = reply.get("reasoning_content", "")
    return "reasoning of somebody else" if told and told not in own else ""


def _texts(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _anthropic(messages: list[dict[str, Any]], own: set[str]) -> str:
    if messages[0]["role"] != "user":
        return "the first message is not the user's"
    if any(one["role"] == two["role"] for one, two in pairwise(messages)):
        return "two messages of one side in a row"
    seen: set[str] = set()
    awaited: list[str] = []
    for each in messages:
        if problem := _block_problem(each["content"], own):
            return problem
        results = [block["tool_use_id"] for block in each["content"] if block["type"] == "tool_result"]
        if sorted(results) != sorted(awaited):
            return f"results {results} for calls {awaited}"
        if [block["type"] for block in each["content"][: len(results)]] != ["tool_result"] * len(results):
            return "results behind something else"
        awaited = [block["id"] for block in each["content"] if block["type"] == "tool_use"]
        if seen & set(awaited) or len(awaited) != len(set(awaited)):
            return f"an id twice: {awaited}"
        if not all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in awaited):
            return f"foreign ids {awaited}"
        seen |= set(awaited)
    return f"no result for {awaited}" if awaited else ""


def _block_problem(content: list[dict[str, Any]], own: set[str]) -> str:
    if not content:
        return "a message without content"
    for block in content:
        if block["type"] == "text" and not block["text"].strip():
            return "an empty text"
        if block["type"] == "thinking" and block["signature"] not in own:
            return "reasoning of somebody else"
        if block["type"] == "thinking" and not block["signature"].endswith(block["thinking"]):
            return "changed reasoning"
        if block["type"] == "redacted_thinking" and block["data"] not in own:
            return "hidden reasoning of somebody else"
    return ""
