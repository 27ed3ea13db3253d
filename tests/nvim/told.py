"""What a server in the hands of a test tells an editor: a turn, its words, a question, a stored conversation."""

from typing import Any

from tests.nvim.server import TestServer

QUESTION = [
    "? May I run bash make 1?",
    "    saves first: a.txt",
    "    @@ -1 +1 @@",
    "    -a",
    "    +b",
    "    y yes · n no · a always",
]
"""How both editors show the first question of `ask`."""


def turn(server: TestServer, text: str) -> None:
    server.event("turn_started", text=text, model="m", provider="p")
    server.event("llm_request_started", model="m")


def say(server: TestServer, text: str, message: str = "m1") -> None:
    server.event("llm_output_delta", message=message, text=text)


def ask(server: TestServer, number: int = 1) -> None:
    server.event("tool_call_started", call_id=f"c{number}", name="bash", arguments="{}", title=f"make {number}")
    server.event(
        "approval_asked",
        id=f"q{number}",
        call_id=f"c{number}",
        name="bash",
        title=f"make {number}",
        diff="@@ -1 +1 @@\n-a\n+b",
        saves=["a.txt"],
    )


def stored(text: str, answer: str = "Stored answer.") -> list[dict[str, Any]]:
    return [
        {"kind": "turn_started", "turn": "t0", "text": text},
        {"kind": "llm_output_delta", "turn": "t0", "message": "m0", "text": answer},
        {"kind": "turn_completed", "turn": "t0", "stop_reason": "completed"},
    ]
