import msgspec
import pytest

from smith_server.core.todos import Todo, counted, in_words
from smith_server.core.tool import Effect, decode_arguments, spec
from smith_server.tools.todo_write import TodoWrite, TodoWriteArguments
from tests.tools.calls import call, preview


class Kept:
    def __init__(self):
        self.lists = []

    async def put(self, todos):
        self.lists.append(list(todos))


@pytest.fixture
def kept():
    return Kept()


def items(*pairs):
    return [{"content": content, "status": status} for content, status in pairs]


async def test_the_whole_list_is_replaced_and_the_answer_only_counts(kept, tmp_path):
    tool = TodoWrite(kept)
    plan = items(("one", "completed"), ("two\n lines", "in_progress"), ("three", "pending"), ("four", "pending"))
    result = await call(tool, tmp_path, todos=plan)
    assert kept.lists == [
        [Todo("one", "completed"), Todo("two lines", "in_progress"), Todo("three", "pending"), Todo("four", "pending")]
    ]
    assert (result.content, result.mutation) == ("2 pending, 1 in progress, 1 completed", "none")
    assert (await call(tool, tmp_path, todos=[])).content == "the list is empty"
    assert kept.lists[1:] == [[]]


async def test_with_two_items_in_progress_the_list_stays_as_it_was(kept, tmp_path):
    plan = items(("one", "in_progress"), ("two", "in_progress"))
    result = await call(TodoWrite(kept), tmp_path, todos=plan)
    assert (result.ok, result.code, kept.lists) == (False, "several_in_progress", [])


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"todos": [{"content": "x"}]}',
        '{"todos": [{"content": " \\n", "status": "pending"}]}',
        '{"todos": [{"content": "x", "status": "done"}]}',
        '{"todos": [{"content": "x", "status": "pending", "id": 1}]}',
        '{"todos": "x"}',
    ],
    ids=["missing", "no status", "blank", "unknown status", "unknown field", "no list"],
)
def test_items_that_are_none_are_refused(text):
    with pytest.raises(msgspec.ValidationError):
        decode_arguments(TodoWriteArguments, text)


async def test_a_person_reads_it_as_a_list(kept, tmp_path):
    assert in_words([Todo("a", "completed"), Todo("b", "in_progress"), Todo("c", "pending")]) == "[x] a\n[>] b\n[ ] c"
    assert in_words([]) == "Nothing is planned."
    assert (await preview(TodoWrite(kept), tmp_path, todos=items(("a", "pending")))).title == counted(
        [Todo("a", "pending")]
    )


def test_the_model_is_told_of_it_in_few_words(kept):
    tool = TodoWrite(kept)
    assert len(msgspec.json.encode(spec(tool))) <= 600
    assert tool.effect is Effect.TALK
