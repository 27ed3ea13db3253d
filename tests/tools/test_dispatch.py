import json

import msgspec
import pytest

from smith_server.core.ports import Job
from smith_server.core.tool import ToolResult, decode_arguments, spec
from smith_server.tools.dispatch import Dispatch, DispatchArguments
from tests.tools.calls import call, preview


class Asked:
    def __init__(self):
        self.jobs = []

    async def dispatch(self, job, context):
        self.jobs.append(job)
        return ToolResult("a report")


async def test_a_job_is_handed_on_with_its_files_sorted_and_named_once(tmp_path):
    asked = Asked()
    told = await call(
        Dispatch(asked),
        tmp_path,
        role="worker",
        task="do it",
        context={"user_request_summary": "tidy up", "role_instructions": "be quick"},
        files=["b.py", "a.py", "b.py"],
    )
    assert told == ToolResult("a report")
    assert asked.jobs == [Job("worker", "do it", "tidy up", "be quick", ("a.py", "b.py"))]


async def test_a_task_alone_is_enough(tmp_path):
    asked = Asked()
    await call(Dispatch(asked), tmp_path, role="explorer", task="look")
    assert asked.jobs == [Job("explorer", "look")]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"role": "worker"}, "task"),
        ({"task": "x"}, "role"),
        ({"role": "worker", "task": " \n"}, "task"),
        ({"role": "worker", "task": "x", "context": "what was said"}, "context"),
        ({"role": "worker", "task": "x", "context": {"messages": [{"role": "user"}]}}, "messages"),
        ({"role": "worker", "task": "x", "context": {"transcript": "all of it"}}, "transcript"),
        ({"role": "worker", "task": "x", "files": "a.py"}, "files"),
        ({"role": "worker", "task": "x", "files": ["a.py", ""]}, "files"),
        ({"role": "worker", "task": "x", "files": [1]}, "files"),
        ({"role": "worker", "task": "x", "model": "m"}, "model"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else value,
)
def test_a_job_that_is_none_is_refused_by_the_name_of_what_is_wrong(arguments, named):
    with pytest.raises(msgspec.ValidationError, match=named):
        decode_arguments(DispatchArguments, json.dumps(arguments))


async def test_a_person_sees_who_is_sent_to_do_what(tmp_path):
    assert (await preview(Dispatch(Asked()), tmp_path, role="worker", task="do it")).title == "worker: do it"


def test_a_model_is_asked_for_role_task_context_and_files():
    schema = spec(Dispatch(Asked())).schema
    assert list(schema["properties"]) == ["role", "task", "context", "files"]
    assert schema["required"] == ["role", "task"]
    assert list(schema["properties"]["context"]["properties"]) == ["user_request_summary", "role_instructions"]
