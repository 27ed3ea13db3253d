"""The views of the case data: what is sent of a transcript, and what stands for elided output."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from smith_server.core.messages import AssistantMessage, Call, Message, Part, Text, ToolMessage, UserMessage
from smith_server.core.window import Window, WindowRules

FILE = Path(os.environ.get("SMITH_CASES_DIR", Path(__file__).parent)) / "window.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()] if FILE.exists() else []
NAMES = {"tool_output_keep_rounds": "keep_rounds", "tool_output_elide_over_chars": "elide_over_chars"}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_window_shows_what_the_case_says(case: dict[str, Any]) -> None:
    given = case["input"]
    messages = [message(at, each) for at, each in enumerate(given["messages"])]
    system = next((at for at, each in enumerate(given["messages"]) if each["role"] == "system"), None)
    config = {NAMES.get(key, key): value for key, value in given.get("config", {}).items()}
    room = {"context_window": given["context_window"]} if "context_window" in given else {}
    window = Window(WindowRules(**{"elide_step": 1, "elide_min_gain_pct": 0, **room, **config}))
    talk = [each for at, each in enumerate(messages) if at != system]

    shown = window.view(talk, extra=0 if system is None else len(content(given["messages"][system])))

    kept = [int(each.id) for each in shown.messages]
    elided = [
        {"index": int(each.id), "placeholder": each.content}
        for each in shown.messages
        if isinstance(each, ToolMessage) and each is not messages[int(each.id)]
    ]
    expected = case["expected"]
    assert {"kept": sorted([*kept, *([] if system is None else [system])]), "elided": elided} == expected
    assert kept == sorted(kept)


def message(at: int, given: dict[str, Any]) -> Message:
    text = content(given)
    match given["role"]:
        case "tool":
            return ToolMessage(
                str(at), given["tool_call_id"], given.get("name", "tool"), text, recall_key=given.get("recall_key", "")
            )
        case "user":
            return UserMessage(str(at), text)
        case _:
            calls = [Call(each["id"], each["name"], each["arguments"]) for each in given.get("tool_calls", [])]
            words: list[Part] = [Text(text)] if text else []
            return AssistantMessage(str(at), (*words, *calls))


def content(given: dict[str, Any]) -> str:
    text: str = given.get("content", "x" * given.get("content_len", 0))
    return text
