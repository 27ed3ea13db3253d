"""What is kept: texts of a conversation under keys, and notes of a project."""

import json

import msgspec
import pytest

from smith_server.core.tool import decode_arguments
from smith_server.runtime.repositories import ProjectMemory, Scratchpad
from smith_server.store.conversations import Header, create
from smith_server.store.db import Database
from smith_server.tools.note import Note
from smith_server.tools.recall import Recall
from smith_server.tools.record import Record
from tests.tools.calls import call, preview


@pytest.fixture
async def database():
    store = await Database.open(None)
    for name in ("talk", "other"):
        await store.call(lambda connection, name=name: create(connection, Header(name, "/project")))
    yield store
    await store.close()


@pytest.fixture
def kept(database):
    scratchpad = Scratchpad(database, "talk")
    return Record(scratchpad), Recall(scratchpad)


async def test_what_was_recorded_is_recalled_as_it_was(kept, tmp_path):
    record, recall = kept
    text = "first line\n" + "x" * 5000
    told = await call(record, tmp_path, key=" plan ", value=text)
    assert (told.content, told.summary) == ("recorded under 'plan'", "5011 characters")
    assert (await call(recall, tmp_path, key="plan")).content == text
    await call(record, tmp_path, key="plan", value="another")
    assert (await call(recall, tmp_path, key="plan")).content == "another"


async def test_a_key_that_holds_nothing_is_told_with_what_to_do(kept, tmp_path):
    told = await call(kept[1], tmp_path, key="plan")
    assert (told.ok, told.code) == (False, "not_found")
    assert "prefix=true" in told.content


async def test_keys_are_listed_by_their_beginning_with_the_first_line_of_each(kept, tmp_path):
    record, recall = kept
    for key, value in (("dispatch/b", "second\nmore"), ("dispatch/a", "\n first"), ("dispatched", "no"), ("_%", "odd")):
        await call(record, tmp_path, key=key, value=value)
    listed = await call(recall, tmp_path, key="dispatch/", prefix=True)
    assert listed.content == "dispatch/a: first\ndispatch/b: second"
    assert (await call(recall, tmp_path, key="_", prefix=True)).content == "_%: odd"
    assert (await call(recall, tmp_path, key="none", prefix=True)).content == "nothing is recorded"
    assert (await call(recall, tmp_path, key="", prefix=True)).summary == "4 keys"


async def test_a_long_list_is_cut_and_says_so(kept, tmp_path):
    record, recall = kept
    for number in range(201):
        await call(record, tmp_path, key=f"k{number:03d}", value="x")
    lines = (await call(recall, tmp_path, key="k", prefix=True)).content.splitlines()
    assert (len(lines), lines[-1]) == (201, "[1 more; use a longer prefix]")


async def test_conversations_do_not_see_what_the_other_keeps(kept, database, tmp_path):
    await call(kept[0], tmp_path, key="plan", value="mine")
    assert (await call(Recall(Scratchpad(database, "other")), tmp_path, key="plan")).code == "not_found"


@pytest.mark.parametrize("key", ["", "  ", "k" * 201], ids=["empty", "blank", "long"])
def test_a_key_has_to_be_one(key):
    with pytest.raises(msgspec.ValidationError, match="key"):
        decode_arguments(Record.args, json.dumps({"key": key, "value": "x"}))


@pytest.fixture
def note(database):
    return Note(ProjectMemory(database, "p1"))


async def test_a_note_is_written_listed_read_and_deleted(note, tmp_path):
    assert (await call(note, tmp_path, action="list")).content == "no notes"
    told = await call(note, tmp_path, action="upsert", id="build:how", content="\nrun make\nthen wait")
    assert told.content == "noted as build:how"
    assert (await call(note, tmp_path, action="list")).content == "build:how: run make"
    assert (await call(note, tmp_path, action="get", id="build:how")).content == "\nrun make\nthen wait"
    await call(note, tmp_path, action="upsert", id="build:how", content="run ninja")
    assert (await call(note, tmp_path, action="get", id="build:how")).content == "run ninja"
    assert (await call(note, tmp_path, action="delete", id="build:how")).content == "deleted build:how"
    assert (await call(note, tmp_path, action="get", id="build:how")).code == "not_found"
    assert (await call(note, tmp_path, action="delete", id="build:how")).code == "not_found"


async def test_a_note_without_a_name_gets_one(note, tmp_path):
    told = await call(note, tmp_path, action="upsert", content="keep this")
    name = told.content.removeprefix("noted as ")
    assert (await call(note, tmp_path, action="get", id=name)).content == "keep this"


@pytest.mark.parametrize("action", ["get", "delete", "upsert"])
async def test_what_an_action_needs_is_named(note, tmp_path, action):
    told = await call(note, tmp_path, action=action)
    assert (told.ok, told.code) == (False, "invalid_arguments")
    assert action in told.content


@pytest.mark.parametrize("action", ["list", "get", "upsert", "delete"])
async def test_without_a_project_there_are_no_notes(tmp_path, action):
    told = await call(Note(None), tmp_path, action=action, id="a", content="b")
    assert (told.ok, told.code) == (False, "no_project")


async def test_notes_are_of_one_project_and_of_all_its_conversations(database, note, tmp_path):
    await call(note, tmp_path, action="upsert", id="a", content="text")
    assert (await call(Note(ProjectMemory(database, "p1")), tmp_path, action="get", id="a")).content == "text"
    assert (await call(Note(ProjectMemory(database, "p2")), tmp_path, action="get", id="a")).code == "not_found"


async def test_a_person_sees_what_is_kept(kept, note, tmp_path):
    assert (await preview(kept[0], tmp_path, key="plan", value="x")).title == "plan"
    assert (await preview(kept[1], tmp_path, key="plan")).title == "plan"
    assert (await preview(note, tmp_path, action="list")).title == "list"
    assert (await preview(note, tmp_path, action="get", id="a")).title == "get a"
