import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.core.errors import ToolRefusal, agent_error
from smith_server.core.report import (
    ExplorerReport,
    Report,
    ReportKind,
    WorkerReport,
    read_report,
    report_schema,
    unreported,
)

KINDS: list[ReportKind] = ["worker", "explorer"]


def worker(**fields: Any) -> Report:
    return read_report("worker", {"status": "ok", "summary": "s", **fields})


def explorer(**fields: Any) -> Report:
    return read_report("explorer", {"status": "ok", "summary": "s", **fields})


def refused(kind: ReportKind, args: Any) -> str:
    with pytest.raises(ToolRefusal) as caught:
        read_report(kind, args)
    error = caught.value.error
    assert (error.kind, error.code) == ("tool", "invalid_report")
    assert error.message.endswith("Call report again.")
    return str(error.data["field"])


def test_a_worker_tells_what_changed_and_how_it_was_checked() -> None:
    assert worker(changes=["a.py"], verification=["3 passed"], limitations=["not on macOS"]) == WorkerReport(
        status="ok", summary="s", changes=("a.py",), verification=("3 passed",), limitations=("not on macOS",)
    )


def test_an_explorer_tells_what_it_found_and_where() -> None:
    assert explorer(findings=["f"], evidence=["a.py:3"]) == ExplorerReport(
        status="ok", summary="s", findings=("f",), evidence=("a.py:3",)
    )


@pytest.mark.parametrize("said", ["ok", "Success", " SUCCEEDED\n", "done", "complete", "completed"])
def test_every_word_for_success_is_ok(said: str) -> None:
    assert worker(status=said).status == "ok"


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("partial", "partial"),
        ("Incomplete", "partial"),
        ("blocked", "blocked"),
        ("failed", "blocked"),
        ("failure", "blocked"),
        ("error", "blocked"),
    ],
)
def test_no_word_for_failure_is_read_as_a_success(said: str, status: str) -> None:
    assert worker(status=said).status == status


@pytest.mark.parametrize("said", ["", "maybe", "okay-ish", None, True, 1, ["ok"], {"ok": True}], ids=repr)
def test_a_status_is_not_guessed(said: Any) -> None:
    assert refused("worker", {"status": said, "summary": "s"}) == "status"


@pytest.mark.parametrize("said", ["", " \n", None, [], ["", " "], 3, {"a": 1}, ["a", 1], ["a", None]], ids=repr)
def test_a_summary_has_to_say_something(said: Any) -> None:
    assert refused("explorer", {"status": "ok", "summary": said}) == "summary"


def test_a_summary_in_pieces_is_joined_by_line() -> None:
    assert worker(summary=["did a", "did b"]).summary == "did a\ndid b"


@pytest.mark.parametrize(
    ("given_value", "taken"),
    [
        ("one", ("one",)),
        (" one ", ("one",)),
        ("", ()),
        (None, ()),
        ([], ()),
        (["a", " b ", "", None, "c"], ("a", "b", "c")),
        ('["a", "b"]', ("a", "b")),
        (' [ "a", null, {"k": 1} ]', ("a", '{"k":1}')),
        ("[not JSON", ("[not JSON",)),
        ("[1] see notes", ("[1] see notes",)),
        ('{"a": 1}', ('{"a": 1}',)),
        ({"path": "a.py", "line": 3}, ('{"line":3,"path":"a.py"}',)),
        (3, ("3",)),
        ([3, 2.5, {"b": "ü", "a": [1]}], ("3", "2.5", '{"a":[1],"b":"ü"}')),
        ('"text"', ('"text"',)),
    ],
    ids=repr,
)
def test_anything_with_one_meaning_becomes_a_list_of_texts(given_value: Any, taken: tuple[str, ...]) -> None:
    report = worker(changes=given_value, limitations=given_value)

    assert report == WorkerReport(status="ok", summary="s", changes=taken, limitations=taken)


@pytest.mark.parametrize("value", [True, [True], ["a", False], [["a"]], '[["a"]]', "[true]"], ids=repr)
@pytest.mark.parametrize("field", ["changes", "verification", "limitations"])
def test_truth_values_and_nested_lists_have_no_meaning_as_texts(field: str, value: Any) -> None:
    assert refused("worker", {"status": "ok", "summary": "s", field: value}) == field


@pytest.mark.parametrize("evidence", [None, [], "", [" ", "\n", None], "[]"], ids=repr)
def test_a_finding_without_evidence_is_refused(evidence: Any) -> None:
    args = {"status": "ok", "summary": "s", "findings": ["f"], "evidence": evidence}

    assert refused("explorer", args) == "evidence"


def test_evidence_is_asked_for_findings_only_and_of_explorers_only() -> None:
    assert explorer(status="blocked", findings=[" "]) == ExplorerReport(status="blocked", summary="s")
    assert explorer(evidence=["a.py:1"]) == ExplorerReport(status="ok", summary="s", evidence=("a.py:1",))
    assert worker(findings=["f"], changes=["c"]) == WorkerReport(status="ok", summary="s", changes=("c",))


def test_fields_of_the_other_kind_and_unknown_ones_are_passed_over_whatever_they_hold() -> None:
    assert worker(findings=True, evidence=[["x"]], mood="good") == WorkerReport(status="ok", summary="s")
    assert explorer(changes=True, job_id="j") == ExplorerReport(status="ok", summary="s")


@pytest.mark.parametrize(
    ("value", "taken"), [(None, False), (True, True), (False, False), ("true", True), (" False ", False)], ids=repr
)
def test_cancelled_is_a_truth_value_or_its_word(value: Any, taken: bool) -> None:
    assert worker(cancelled=value).cancelled is taken


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cancelled", "yes"),
        ("cancelled", 1),
        ("cancelled", []),
        ("error", 3),
        ("error", ["e"]),
        ("error", True),
        ("usage", "many"),
        ("usage", 3),
        ("usage", [1]),
    ],
)
def test_other_fields_of_the_wrong_kind_are_named(field: str, value: Any) -> None:
    assert refused("worker", {"status": "ok", "summary": "s", field: value}) == field


def test_an_error_is_a_text_or_an_object_as_json() -> None:
    assert [worker(error=value).error for value in (None, "e", {"b": 1, "a": "ü"})] == [None, "e", '{"a":"ü","b":1}']


def test_usage_is_kept_as_it_is() -> None:
    assert worker(usage={"input": 3}).usage == {"input": 3}


@pytest.mark.parametrize(
    "args", ["", "ok, done", "[]", '"{}"', None, [], 3, "[" * 100_000], ids=lambda each: repr(each)[:20]
)
def test_what_is_no_object_is_refused_as_a_whole(args: Any) -> None:
    assert refused("worker", args) == "arguments"


def test_arguments_written_as_json_text_are_decoded_once() -> None:
    assert read_report("worker", ' {"status": "ok", "summary": "s"}') == worker()


def test_the_first_field_without_meaning_is_named() -> None:
    assert refused("explorer", {"status": "?", "summary": "", "findings": True}) == "status"
    assert refused("explorer", {"status": "ok", "summary": "", "findings": True}) == "summary"


def test_halves_of_characters_do_not_get_through() -> None:
    half = r"\ud800"
    args = (
        f'{{"status": "ok", "summary": "{half}", "error": "{half}", "usage": {{"{half}": 1}}, "changes": ["{half}"]}}'
    )

    report = read_report("worker", args)

    assert report == WorkerReport(status="ok", summary="?", changes=("?",), error="?", usage={"?": 1})
    assert msgspec.json.decode(msgspec.json.encode(report), type=WorkerReport) == report


def test_an_object_nested_beyond_measure_is_refused_and_not_a_crash() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"d": deep}

    assert refused("worker", {"status": "ok", "summary": "s", "changes": [deep]}) == "changes"
    assert refused("worker", {"status": "ok", "summary": "s", "usage": deep}) == "usage"


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_asked_for_the_fields_of_its_kind_and_not_for_those_of_the_program(kind: ReportKind) -> None:
    schema = report_schema(kind)
    own = {"worker": ["changes", "verification"], "explorer": ["findings", "evidence"]}[kind]

    assert sorted(schema["properties"]) == sorted(["status", "summary", "limitations", *own])
    assert sorted(schema["required"]) == ["status", "summary"]
    assert schema["properties"]["status"]["enum"] == ["blocked", "ok", "partial"]
    assert all(each["description"] for each in schema["properties"].values())


@pytest.mark.parametrize("kind", KINDS)
def test_one_shape_serves_the_tool_and_the_result(kind: ReportKind) -> None:
    report = read_report(kind, {"status": "ok", "summary": "s", "findings": "f", "evidence": "e", "changes": "c"})

    assert read_report(kind, json.loads(msgspec.json.encode(report))) == report
    assert read_report(kind, msgspec.json.encode(report).decode()) == report


@pytest.mark.parametrize(
    ("error", "text", "report"),
    [
        (
            agent_error("protocol", "missing_report", "No report."),
            " found it ",
            {"status": "partial", "limitations": ("found it",), "cancelled": False},
        ),
        (
            agent_error("budget_exhausted", "tool_step_budget", "No report."),
            "",
            {"status": "blocked", "limitations": (), "cancelled": False},
        ),
        (
            agent_error("cancelled", "cancelled", "No report."),
            "half",
            {"status": "blocked", "limitations": ("half",), "cancelled": True},
        ),
    ],
    ids=["text alone", "budget", "cancelled"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_who_ends_without_a_report_gets_one_that_says_why(
    kind: ReportKind, error: Any, text: str, report: dict[str, Any]
) -> None:
    made = unreported(kind, error, text)

    told = f'{{"code":"{error.code}","kind":"{error.kind}","message":"No report."}}'
    assert made == read_report(
        kind, {**report, "limitations": list(report["limitations"]), "summary": "No report.", "error": told}
    )
    assert type(made) is type(read_report(kind, {"status": "ok", "summary": "s"}))


def test_a_report_made_for_somebody_says_something_even_when_they_said_nothing() -> None:
    report = unreported("worker", agent_error("tool", "spawn_limit", " "), " \n")

    assert (report.status, report.summary, report.limitations) == ("blocked", "spawn_limit", ())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
FIELDS = [
    "status",
    "summary",
    "changes",
    "verification",
    "findings",
    "evidence",
    "limitations",
    "cancelled",
    "error",
    "usage",
]
loose_args = st.dictionaries(st.sampled_from(FIELDS), json_values).flatmap(
    lambda args: st.sampled_from([args, {**args, "status": "ok", "summary": "s"}, json.dumps(args)])
)


@given(st.sampled_from(KINDS), loose_args | json_values)
def test_any_arguments_are_a_sound_report_or_a_refusal(kind: ReportKind, args: Any) -> None:
    try:
        report = read_report(kind, args)
    except ToolRefusal as problem:
        assert problem.error.data["field"] in (*FIELDS, "arguments")
        return
    assert report.summary.strip()
    assert report.status in ("ok", "partial", "blocked")
    assert msgspec.json.decode(msgspec.json.encode(report), type=type(report)) == report
    if isinstance(report, ExplorerReport) and report.findings:
        assert report.evidence
    shown = msgspec.structs.asdict(report)
    texts = [text for value in shown.values() if isinstance(value, tuple) for text in value]
    assert all(text and text == text.strip() for text in texts)
