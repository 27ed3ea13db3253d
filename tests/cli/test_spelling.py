"""The documented spelling of events, fixed by a file: one line for each that an event becomes."""

import io
import json
import re
from pathlib import Path

from smith_server.cli.spelling import JsonLines, result, spelled
from smith_server.cli.streams import Output
from smith_server.core import events
from smith_server.core.compaction import Compaction
from smith_server.core.errors import agent_error
from smith_server.core.events import Envelope, Event
from smith_server.core.messages import AssistantMessage, Call, Text, Thinking, ToolMessage, Usage, UserMessage
from smith_server.core.todos import Todo
from smith_server.runtime.outcome import TurnOutcome

GOLDEN = Path(__file__).parents[1] / "golden" / "run_json.jsonl"
USED = Usage(10, 4, 20, 5, 2, 0.25)
ERROR = agent_error("transport", "overloaded", "too busy")
FOLDED = Compaction("t000001.0009", covered=("t000001.0001",), summary="so far")
PARTS = (Thinking("hm"), Thinking("", "anthropic"), Text("Hello "), Call("c1", "read", "{}"), Text("there."))

EVENTS: tuple[Event, ...] = (
    events.SessionStarted(root="/p", resumed=True, title="Fix it"),
    events.PromptQueued(id="q1", text="and then"),
    events.PromptQueued(id="q2", text="quickly", steers=True, record={"model": "m"}),
    events.PromptEdited(id="q1", text="and now"),
    events.PromptTaken(id="q2"),
    events.PromptDropped(id="q1", text="and then"),
    events.ConversationChanged(change="renamed", title="Fix it"),
    events.ConfigChanged(path="default_model"),
    events.TurnStarted(text="fix it"),
    events.RequestStarted(model="m", provider="p"),
    events.RequestFinished(usage=USED, duration_ms=7),
    events.RequestRetried(message="t1.2", layer="transport", attempt=1, delay_ms=500, error=ERROR),
    events.RequestRetried(message="t1.2", layer="empty", attempt=1, delay_ms=0, error=ERROR),
    events.ResponseContinued(attempt=1),
    events.ReasoningDelta(message="t1.2", text="hm"),
    events.OutputDelta(message="t1.2", text="Hello\n\u2028\ud800\x9b"),
    events.MessageAdded(message=UserMessage("t1.1", "fix it")),
    events.MessageAdded(message=AssistantMessage("t1.2", PARTS, "m", "tool_use")),
    events.MessageAdded(message=ToolMessage("t1.3", "c1", "read", "text")),
    events.CallStarted(call_id="c1", name="read", arguments='{"path": "a.py"}'),
    events.CallStarted(call_id="c2", name="read", arguments=""),
    events.CallStarted(call_id="c3", name="read", arguments='{"path": '),
    events.CallProgressed(call_id="c1", text="half"),
    events.CallFinished(call_id="c1", name="read", ok=True, summary="1 line", content="one", duration_ms=3),
    events.CallFinished(call_id="c2", name="bash", ok=False, summary="no", code="nobody_to_ask", content="no, no"),
    events.JobStarted(id="bash-1", command="serve"),
    events.JobEnded(id="bash-1", state="exited", exit_code=3, seconds=1.5),
    events.JobEnded(id="bash-1", state="exited"),
    events.JobEnded(id="bash-1", state="timed_out", exit_code=0),
    events.JobEnded(id="bash-1", state="killed"),
    events.TodosUpdated(todos=(Todo("look", "completed"),)),
    events.ApprovalAsked(id="a1", call_id="c1", name="bash", title="ls", saves=("a.py",)),
    events.ApprovalAnswered(id="a1", decision="withdrawn"),
    events.EditWaiting(path="/p/a.py", reason="busy"),
    events.FilesChanged(paths=("/p/a.py",), modified=()),
    events.DispatchStarted(child="k1", target_role="explorer", task="look"),
    events.DispatchFinished(child="k1", target_role="explorer", status="done", summary="seen"),
    events.ContextTrimmed(elided=3, dropped=1, estimate=900, limit=1000),
    events.CompactionStarted(estimate=900, limit=800),
    events.ContextCompacted(record=FOLDED, steps=("summary",), before=900, after=400, covered=7, usage=USED),
    events.UsageUpdated(turn_usage=USED, context=34, cost=0.75),
    events.Notice(level="info", text="Using m."),
    events.ErrorReported(error=agent_error("tool", "odd", "odd")),
    events.ErrorReported(error=agent_error("budget_exhausted", "max_cost", "enough", spent_usd=1.5, limit_usd=1.0)),
    events.PersistenceFailed(error=agent_error("persistence", "locked", "locked", file="smith.db")),
    events.TurnCancelRequested(),
    events.TurnCompleted(usage=USED),
    events.TurnCancelled(usage=USED),
    events.TurnFailed(error=ERROR, usage=USED),
    events.SessionStopped(reason="done"),
    events.SessionFailed(error=ERROR),
)
OUTCOME = TurnOutcome("t000001", "completed", "there.", None, USED, ("bash",))


def test_every_event_is_spelled_as_the_golden_file_says() -> None:
    lines = [line for event in EVENTS for line in spelled(event)]
    lines.append(result(OUTCOME, "Hello there.", [{"id": "c2", "tool": "bash"}], "abc"))
    assert [json.dumps(line) for line in lines] == GOLDEN.read_text().splitlines()


def test_the_golden_file_has_an_event_of_every_kind() -> None:
    kinds = {kind for kind in Event.__subclasses__() if kind.__module__ == events.__name__}
    assert {type(event) for event in EVENTS} == kinds


def test_lines_are_held_until_a_request_went_out() -> None:
    out = io.StringIO()
    lines = JsonLines(Output(out, lambda problem: None))
    lines.take(Envelope("abc", "t1", events.TurnStarted(text="hi")))
    assert out.getvalue() == ""
    lines.take(Envelope("abc", "t1", events.RequestStarted(model="m")))
    printed = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(line["type"], line["turn"]) for line in printed] == [("turn_started", "t1"), ("llm_request_started", "t1")]


def test_every_line_is_described() -> None:
    described = set(re.findall(r"`(\w+)`", (GOLDEN.parents[2] / "docs" / "run-json.md").read_text()))
    spelled_so = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    assert {line["type"] for line in spelled_so} - described == set()
    named = {
        line["type"]: set(line) for line in spelled_so if line["type"] in ("tool_finished", "turn_error", "result")
    }
    assert set().union(*named.values()) - described - {"type"} == set()
