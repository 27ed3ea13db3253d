import asyncio
from pathlib import Path

import msgspec
import pytest

from smith_server.core.budget import Budget
from smith_server.core.calls import MOST_CONTENT, MOST_TITLE, title_of
from smith_server.core.cancel import CancelToken
from smith_server.core.conversation import Conversation
from smith_server.core.editor import DiskMark, OpenText, SaveOutcome
from smith_server.core.errors import ToolRefusal
from smith_server.core.events import CallProgressed, Event, FilesChanged
from smith_server.core.execute import execute, run_call
from smith_server.core.messages import AssistantMessage, Call, ToolMessage
from smith_server.core.ports import Answer, Question, Verdict
from smith_server.core.scope import TurnInput
from smith_server.core.tool import Effect, ToolResult
from smith_server.runtime.unattended import NoEditor
from tests.fakes.turns import FakeApprover, FakePolicy, FakeTool, call, turn_input

DEEP = '{"text": ' + "[" * 100_000 + "]" * 100_000 + "}"


async def result_of(made: Call, turn: TurnInput) -> ToolResult:
    return await run_call(made, turn, lambda event: None)


async def test_a_call_becomes_a_result() -> None:
    assert await result_of(call(), turn_input(tools=[FakeTool()])) == ToolResult("hi")


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (call("nothing"), "unknown_tool"),
        (call(arguments="{"), "invalid_arguments"),
        (call(arguments="[1]"), "invalid_arguments"),
        (call(arguments="null"), "invalid_arguments"),
        (call(arguments=""), "invalid_arguments"),
        (call(arguments='{"text": 3}'), "invalid_arguments"),
        (call(arguments='{"text": "a", "more": 1}'), "invalid_arguments"),
        (call(arguments='{"text": "\\ud800"}'), "invalid_arguments"),
        (call(arguments=DEEP), "invalid_arguments"),
    ],
)
async def test_a_call_that_cannot_be_understood_is_told_why(made: Call, code: str) -> None:
    tool = FakeTool()
    result = await result_of(made, turn_input(tools=[tool]))
    assert (result.ok, result.code, tool.ran) == (False, code, [])
    assert result.content.startswith(f"{code}: ")


@pytest.mark.parametrize(("answer", "code"), [(Answer("no"), "refused"), (Answer("no", nobody=True), "nobody_to_ask")])
async def test_a_no_runs_nothing(answer: Answer, code: str) -> None:
    tool = FakeTool(effect=Effect.EDIT)
    turn = turn_input(tools=[tool], policy=FakePolicy("ask"), approver=FakeApprover(answer))
    result = await result_of(call(), turn)
    assert (result.code, tool.ran) == (code, [])


async def test_the_reason_of_a_no_reaches_the_model() -> None:
    turn = turn_input(tools=[FakeTool()], policy=FakePolicy("ask"), approver=FakeApprover(Answer("no", "not there")))
    assert "not there" in (await result_of(call(), turn)).content


async def test_a_question_shows_what_would_be_done() -> None:
    approver = FakeApprover()
    await result_of(call(), turn_input(tools=[FakeTool()], policy=FakePolicy("ask"), approver=approver))
    question = approver.asked[0]
    assert (question.title, question.diff, question.arguments) == ("say hi", "a diff", {"text": "hi"})


async def test_a_deny_asks_nobody() -> None:
    approver, tool = FakeApprover(), FakeTool()
    result = await result_of(call(), turn_input(tools=[tool], policy=FakePolicy("deny"), approver=approver))
    assert (result.code, approver.asked, tool.ran) == ("tool_denied", [], [])


async def test_a_call_that_would_be_refused_is_not_asked_about() -> None:
    approver, tool = FakeApprover(), FakeTool()

    async def refuse(args: object, context: object) -> object:
        raise ToolRefusal("hash_mismatch", "the text has moved on")

    tool.preview = refuse
    result = await result_of(call(), turn_input(tools=[tool], policy=FakePolicy("ask"), approver=approver))
    assert (result.code, approver.asked) == ("hash_mismatch", [])


async def test_a_bug_in_a_tool_is_a_result() -> None:
    async def fail(args: object, context: object) -> ToolResult:
        raise KeyError("gone")

    result = await result_of(call(), turn_input(tools=[FakeTool(action=fail)]))
    assert (result.ok, result.code) == (False, "handler_error")


class Broken(FakePolicy, FakeApprover, NoEditor):
    """Everything in it is a bug."""

    def judge(self, name: str, effect: Effect, args: object) -> Verdict:
        raise ValueError("a rule that is none")

    async def ask(self, question: object, token: object) -> Answer:
        raise ConnectionError("nobody there")

    async def unsaved(self) -> list[OpenText]:
        raise OSError("no buffers")


@pytest.mark.parametrize(
    "broken",
    [
        {"policy": Broken()},
        {"policy": FakePolicy("ask"), "approver": Broken()},
        {"editor": Broken()},
    ],
    ids=["policy", "approver", "editor"],
)
async def test_a_bug_around_a_tool_is_a_result_too_and_every_call_has_one(broken: dict[str, object]) -> None:
    tools = [FakeTool("look", Effect.READ), FakeTool("run", Effect.EXECUTE)]
    turn = turn_input(tools=tools)
    bad = msgspec.structs.replace(turn, **broken)
    result = await result_of(call("run"), bad)
    assert (result.ok, result.code, tools[1].ran) == (False, "handler_error", [])
    talk = Conversation()
    talk.begin_turn()
    made = (call("look", id="a"), call("look", id="b"), call("run", id="c"))
    talk.add(AssistantMessage(talk.mint(), made, stop="tool_use"))
    await execute(made, bad, talk, lambda event: None, Budget())
    assert [message.call_id for message in talk.messages if isinstance(message, ToolMessage)] == ["a", "b", "c"]


async def test_a_cancel_in_the_moment_of_the_yes_starts_nothing() -> None:
    tool = FakeTool(effect=Effect.EDIT)
    turn = turn_input(tools=[tool], policy=FakePolicy("ask"))

    class Approver(FakeApprover):
        async def ask(self, question: object, token: object) -> Answer:
            turn.token.request()
            return Answer("yes")

    turn = turn_input(tools=[tool], policy=FakePolicy("ask"), approver=Approver(), token=turn.token)
    result = await result_of(call(), turn)
    assert (result.code, tool.ran) == ("cancelled", [])


async def test_a_cancel_while_the_store_is_slow_starts_nothing() -> None:
    tool = FakeTool(effect=Effect.EXECUTE)
    turn = turn_input(tools=[tool])

    async def slow() -> None:
        turn.token.request()

    turn = turn_input(tools=[tool], token=turn.token, stored=slow)
    assert ((await result_of(call(), turn)).code, tool.ran) == ("cancelled", [])


async def test_what_was_done_before_a_cancel_is_kept() -> None:
    turn = turn_input()

    async def work(args: object, context: object) -> ToolResult:
        asyncio.get_running_loop().call_soon(turn.token.request)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return ToolResult("half", ok=False, code="cancelled", mutation="unknown")
        raise AssertionError("not reached")

    turn = turn_input(tools=[FakeTool(action=work)], token=turn.token)
    assert (await result_of(call(), turn)).content == "half"


async def test_secrets_and_long_results_do_not_get_through() -> None:
    events: list[Event] = []

    async def tell(args: object, context: object) -> ToolResult:
        context.progress("key-123")
        return ToolResult("key-123" + "x" * MOST_CONTENT)

    turn = turn_input(tools=[FakeTool(action=tell)], mask=lambda text: text.replace("key-123", "[key]"))
    talk = Conversation()
    talk.begin_turn()
    talk.add(AssistantMessage(talk.mint(), (call(),), stop="tool_use"))
    await execute([call()], turn, talk, events.append, Budget())
    message = talk.messages[-1]
    assert isinstance(message, ToolMessage)
    assert message.content.startswith("[key]xxx")
    assert message.content.endswith("[5 more characters left out]")
    assert [event.text for event in events if isinstance(event, CallProgressed)] == ["[key]"]


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        ('{"path": "a.py", "content": "x"}', "a.py"),
        ('{"command": "ls\\n  -l", "timeout": 3}', "ls -l"),
        ('{"command": "' + "x" * 200 + '"}', "x" * (MOST_TITLE - 1) + "…"),
        ('{"path": 3}', ""),
        ("{", ""),
        ("[1]", ""),
        (DEEP, ""),
        ("", ""),
    ],
)
def test_a_call_is_named_by_its_most_telling_argument(arguments: str, title: str) -> None:
    assert title_of(arguments) == title


class EditorWithBuffers(NoEditor):
    def __init__(self, *unsaved: OpenText) -> None:
        self.buffers = list(unsaved)
        self.saved: list[Path] = []
        self.changed: list[Path] = []

    async def open_text(self, path: Path, *, certain: bool = False) -> OpenText | None:
        return next((buffer for buffer in self.buffers if buffer.path == path), None)

    async def unsaved(self) -> list[OpenText]:
        return [buffer for buffer in self.buffers if buffer.modified and buffer.path not in self.saved]

    async def save(self, texts: list[OpenText], reason: str) -> list[SaveOutcome]:
        self.saved += [text.path for text in texts]
        return [SaveOutcome(text.path, "saved") for text in texts]

    def changed_since(self, mark: DiskMark) -> list[Path]:
        return self.changed


OWN = OpenText(Path("/nowhere/own.py"), "a", "1", modified=True, own_only=True)
THEIRS = OpenText(Path("/nowhere/theirs.py"), "b", "2", modified=True)


def command(editor: EditorWithBuffers, setting: str, **changes: object) -> TurnInput:
    tool = FakeTool(effect=Effect.EXECUTE)
    return turn_input(tools=[tool], editor=editor, save_before_run=setting, **changes)


@pytest.mark.parametrize(
    ("setting", "answer", "saved"),
    [
        ("agent", "yes", [OWN.path]),
        ("never", "yes", []),
        ("ask", "yes", [OWN.path, THEIRS.path]),
        ("ask", "no", [OWN.path]),
    ],
)
async def test_before_a_command_only_these_buffers_are_saved(setting: str, answer: str, saved: list[Path]) -> None:
    editor = EditorWithBuffers(OWN, THEIRS)
    await result_of(call(), command(editor, setting, approver=FakeApprover(Answer(answer))))
    assert editor.saved == saved


async def test_the_question_about_a_command_lists_what_it_saves() -> None:
    approver = FakeApprover()
    turn = command(EditorWithBuffers(OWN, THEIRS), "agent", approver=approver, policy=FakePolicy("ask"))
    await result_of(call(), turn)
    assert approver.asked[0].saves == ("own.py",)


@pytest.mark.parametrize(("setting", "asked", "saved"), [("agent", 1, []), ("ask", 2, [OWN.path])])
async def test_what_was_typed_into_while_the_question_was_open_is_not_saved_by_its_yes(
    setting: str, asked: int, saved: list[Path]
) -> None:
    editor = EditorWithBuffers(OWN)

    class Approver(FakeApprover):
        async def ask(self, question: Question, token: CancelToken) -> Answer:
            other = OpenText(Path("/nowhere/other.py"), "c", "3", modified=True, own_only=True)
            editor.buffers = [msgspec.structs.replace(OWN, text="mine", hash="4", own_only=False), other]
            return await super().ask(question, token)

    approver = Approver()
    result = await result_of(call(), command(editor, setting, approver=approver, policy=FakePolicy("ask")))
    assert (len(approver.asked), editor.saved) == (asked, saved)
    assert ("own.py (unsaved text of the user)" in result.content) == (setting == "agent")
    assert "other.py (unsaved edit of this conversation)" in result.content


@pytest.mark.parametrize("where", ["unsaved", "save", "preview", "stored"])
async def test_a_cancel_ends_every_wait_before_the_run(where: str) -> None:
    editor, tool = EditorWithBuffers(OWN), FakeTool(effect=Effect.EXECUTE)
    turn = turn_input(tools=[tool], editor=editor, policy=FakePolicy("ask"))

    async def forever(*given: object) -> None:
        asyncio.get_running_loop().call_soon(turn.token.request)
        await asyncio.Event().wait()

    if where == "stored":
        turn = msgspec.structs.replace(turn, stored=forever)
    else:
        setattr(tool if where == "preview" else editor, where, forever)
    result = await asyncio.wait_for(result_of(call(), turn), 1)
    assert (result.code, tool.ran) == ("cancelled", [])


async def test_a_cancel_in_the_question_about_saving_saves_nothing() -> None:
    editor = EditorWithBuffers(OWN, THEIRS)
    turn = command(editor, "ask")

    class Approver(FakeApprover):
        async def ask(self, question: Question, token: CancelToken) -> Answer:
            token.request()
            return Answer("yes")

    result = await result_of(call(), msgspec.structs.replace(turn, approver=Approver()))
    assert (result.code, editor.saved) == ("cancelled", [])


async def test_a_refused_command_saves_nothing() -> None:
    editor = EditorWithBuffers(OWN)
    await result_of(call(), command(editor, "agent", approver=FakeApprover(Answer("no")), policy=FakePolicy("ask")))
    assert editor.saved == []


async def test_what_a_command_could_not_see_is_told() -> None:
    result = await result_of(call(), command(EditorWithBuffers(OWN, THEIRS), "never"))
    assert result.content == (
        "hi\n[not on disk: own.py (unsaved edit of this conversation), theirs.py (unsaved text of the user)]"
    )
    assert result.summary == "hi · theirs.py as on disk, without your unsaved text"


async def test_the_person_is_told_of_no_text_of_the_agent_alone() -> None:
    result = await result_of(call(), command(EditorWithBuffers(OWN), "never"))
    assert result.summary == ""


async def test_files_changed_under_open_buffers_are_told() -> None:
    events: list[Event] = []
    editor = EditorWithBuffers(THEIRS)
    editor.changed = [THEIRS.path, Path("/nowhere/clean.py")]
    result = await run_call(call(), command(editor, "never"), events.append)
    assert [event for event in events if isinstance(event, FilesChanged)] == [
        FilesChanged(paths=("/nowhere/theirs.py", "/nowhere/clean.py"), modified=("/nowhere/theirs.py",))
    ]
    assert "changed on disk, but open with unsaved text and left as it is in the editor: theirs.py" in result.content
