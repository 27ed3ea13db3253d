"""What a refusal means, and what a person is told."""

import json
from typing import Any

import pytest

from smith_server.llm import errors
from smith_server.llm.presets import PRESETS, Preset, preset

OPENAI = PRESETS["openai"]

STATUSES = {
    301: "provider_error",
    400: "bad_request",
    401: "auth",
    402: "bad_request",
    403: "auth",
    404: "bad_request",
    408: "provider_error",
    409: "provider_error",
    413: "bad_request",
    418: "bad_request",
    422: "bad_request",
    424: "provider_error",
    425: "provider_error",
    429: "rate_limited",
    498: "overloaded",
    499: "provider_error",
    500: "provider_error",
    502: "provider_error",
    503: "overloaded",
    504: "provider_error",
    529: "overloaded",
}


@pytest.mark.parametrize(("status", "code"), STATUSES.items())
def test_a_status_alone_says_enough(status: int, code: str) -> None:
    failed = errors.of_response(status, {}, b"", OPENAI)
    assert (failed.error.kind, failed.error.code) == ("transport", code)
    assert failed.error.retryable is (code not in ("auth", "bad_request"))
    assert failed.error.data == {"provider": "openai", "status": status}


BODIES: dict[str, tuple[int, Any, str]] = {
    "quota beats the status": (429, {"error": {"code": "insufficient_quota", "message": "no"}}, "bad_request"),
    "the word quota means nothing": (429, {"error": {"message": "quota per minute exceeded"}}, "rate_limited"),
    "overloaded beats the status": (500, {"error": {"type": "overloaded_error"}}, "overloaded"),
    "context length by name": (500, {"error": {"code": "context_length_exceeded"}}, "bad_request"),
    "context length by message": (500, {"error": {"message": "exceeds the available context size"}}, "bad_request"),
    "else the status beats the type": (500, {"error": {"type": "invalid_request_error"}}, "provider_error"),
    "an error in a list": (500, [{"error": {"code": "insufficient_quota"}}], "bad_request"),
    "an error as text": (500, {"error": "maximum context length is 8192 tokens"}, "bad_request"),
}


@pytest.mark.parametrize(("status", "body", "code"), BODIES.values(), ids=BODIES)
def test_a_body_may_say_more_than_the_status(status: int, body: Any, code: str) -> None:
    assert errors.of_response(status, {}, json.dumps(body).encode(), OPENAI).error.code == code


INSIDE: dict[str, tuple[Any, str]] = {
    "by type": ({"type": "rate_limit_error"}, "rate_limited"),
    "by code as text": ({"code": "rate_limit_exceeded", "type": "requests"}, "rate_limited"),
    "the code is closer than the type": ({"type": "invalid_request_error", "code": "invalid_api_key"}, "auth"),
    "a name beats a number": ({"type": "invalid_request_error", "code": 500}, "bad_request"),
    "by number": ({"code": 429}, "rate_limited"),
    "by status": ({"status": 503}, "overloaded"),
    "by a number as text": ({"code": "401"}, "auth"),
    "a number that is no status": ({"code": 1301}, "provider_error"),
    "case does not matter": ({"type": "Overloaded_Error"}, "overloaded"),
    "empty": ({}, "provider_error"),
    "a text": ("it broke", "provider_error"),
    "a list": ([1], "provider_error"),
}


@pytest.mark.parametrize(("error", "code"), INSIDE.values(), ids=INSIDE)
def test_an_error_inside_a_stream_is_known_by_its_names_then_by_its_number(error: Any, code: str) -> None:
    assert errors.in_stream(error, OPENAI).code == code


ADVICE: dict[str, tuple[Preset, int, Any, str]] = {
    "a wrong key": (
        OPENAI,
        401,
        {"error": {"message": "Incorrect API key"}},
        "openai refused the key: (401) Incorrect API key. Check the key in OPENAI_API_KEY.",
    ),
    "no key wanted so far": (
        PRESETS["ollama"],
        401,
        "",
        "ollama refused the key: (401). Check whether it wants a key.",
    ),
    "a model that is not there": (
        PRESETS["ollama"],
        404,
        {"error": {"message": "model 'x' not found"}},
        "ollama knows no such model or address (404): model 'x' not found. "
        "Fetch the model with `ollama pull NAME`, or choose one that `ollama list` shows.",
    ),
    "a path that is not there": (
        preset("custom", {}, "http://box:1"),
        404,
        "<html><style>p {}</style><h1>Not Found</h1></html>",
        "custom knows no such model or address (404): Not Found. "
        "Check the model name, and whether http://box:1 should end in /v1.",
    ),
    "what the provider behind a relay said": (
        PRESETS["openrouter"],
        502,
        {"error": {"message": "Provider returned error", "metadata": {"raw": "disk on fire"}}},
        "openrouter reported an error: (502) Provider returned error: disk on fire. "
        "Send the prompt again, or choose another model.",
    ),
    "an empty account": (
        OPENAI,
        429,
        {"error": {"message": "You exceeded your quota!", "type": "insufficient_quota"}},
        "The account at openai has nothing left to spend: You exceeded your quota! Look at its billing page.",
    ),
    "a long conversation": (
        OPENAI,
        400,
        {"error": {"message": "maximum context length is 8", "type": "invalid_request_error"}},
        "The conversation is longer than the model can take: maximum context length is 8. "
        "Shorten it with /compact, start a new one, or choose a model with a larger window.",
    ),
}


@pytest.mark.parametrize(("source", "status", "body", "text"), ADVICE.values(), ids=ADVICE)
def test_a_message_says_what_happened_and_what_to_do(source: Preset, status: int, body: Any, text: str) -> None:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    assert errors.of_response(status, {}, data, source).error.message == text


def test_a_redirect_names_the_other_address_and_hides_a_password() -> None:
    source = preset("custom", {}, "http://me:secret@box/v1")
    text = errors.of_response(308, {"location": "https://box/v1"}, b"", source).error.message
    assert text == "http://box/v1 sends us on to https://box/v1 (308). Set the base URL to where it really is."


def test_a_long_or_odd_body_is_shown_short() -> None:
    failed = errors.of_response(500, {}, b"\xff" + "\U0001f642 ".encode() * 5000, OPENAI)
    assert len(failed.error.message) < 800
    lone = errors.of_response(500, {}, b'{"error": "a \\ud83d b"}', OPENAI)
    assert "a \ufffd b" in lone.error.message


def test_the_wait_is_told_with_the_failure() -> None:
    assert errors.of_response(429, {"retry-after": "2"}, b"", OPENAI).retry_after == 2
    assert errors.of_response(429, {}, b"", OPENAI).retry_after is None
