"""`smith run`: the same job with nobody there, in the hands of a shell."""

import asyncio
import json
import secrets
import signal
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from tests.e2e.command import ended, shell, smith, start
from tests.e2e.processes import gone, living, until
from tests.e2e.world import World

TOUCH = [{"call": "bash", "arguments": {"command": "touch ran"}}]
DONE = [{"text": "Done."}]
GOOD = [{"text": "All is well."}]


async def said(process: asyncio.subprocess.Process, text: str) -> None:
    """Wait until it has printed `text`."""
    assert process.stdout is not None
    seen = b""
    async with asyncio.timeout(20):
        while text.encode() not in seen:
            seen += await process.stdout.read(4096)


def running(command: str) -> list[dict[str, Any]]:
    return [{"text": "Now it runs.\n"}, {"call": "bash", "arguments": {"command": command}}]


async def test_a_prompt_is_answered_on_standard_output(world: World) -> None:
    world.script([{"text": "Hello there.", "size": 3}])
    done = await smith(world, "run", "hi")
    assert (done.code, done.out, done.err) == (0, "Hello there.\n", "")


async def test_it_reads_edits_and_runs_like_any_other_face(world: World, model: LLMock) -> None:
    world.use(model)
    path = world.file("a.py", b"one\r\ntwo\r\n")
    model.call_tool("read", {"path": "a.py"})
    model.call_tool("replace", {"path": "a.py", "old": "two", "new": "2"})
    model.call_tool("bash", {"command": "cat a.py > copy"})
    model.reply("Changed.")
    done = await smith(world, "--yes", "change two to 2")
    assert (done.code, done.out) == (0, "Changed.\n")
    assert path.read_bytes() == (world.root / "copy").read_bytes() == b"one\r\n2\r\n"


@pytest.mark.parametrize(
    ("call", "argument"),
    [("bash", {"command": "touch ran"}), ("write", {"path": "ran", "content": "x"})],
    ids=["a command", "a new file"],
)
async def test_without_yes_what_changes_something_is_refused_and_named(
    world: World, call: str, argument: dict[str, str]
) -> None:
    world.script([{"call": call, "arguments": argument}], DONE)
    done = await smith(world, "run", "do it")
    assert (done.code, done.out) == (3, "Done.\n")
    assert f"nobody could be asked: {call}. --yes" in done.err
    assert not (world.root / "ran").exists()


async def test_yes_runs_it(world: World) -> None:
    world.script(TOUCH, DONE)
    done = await smith(world, "run", "do it", "--yes")
    assert done.code == 0
    assert (world.root / "ran").exists()


async def test_a_turn_that_fails_says_why(world: World) -> None:
    world.script([{"text": "Half an ans"}, {"error": {"code": "overloaded", "message": "too busy today"}}])
    done = await smith(world, "run", "hi")
    assert (done.code, done.out, done.err) == (1, "Half an ans\n", "smith: too busy today\n")


async def test_the_limit_of_requests_is_a_failure(world: World) -> None:
    world.settings("max_requests = 2\n")
    world.script([{"call": "read", "arguments": {"path": "a"}}], loop=True)
    done = await smith(world, "run", "for ever")
    assert done.code == 1
    assert "max_requests" in done.err


async def test_ctrl_c_stops_it_keeps_what_was_said_and_leaves_nothing_running(world: World) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    world.script(running(f"sleep {mark} & sleep {mark}"))
    process = await start(world, "run", "-y", "go")
    await said(process, "Now it runs.")
    await until(lambda: len(living(f"sleep {mark}")) > 1, 10)
    process.send_signal(signal.SIGINT)
    done = await ended(process)
    assert done.code == 130
    assert "smith: Cancelled." in done.err
    await gone(mark, 0.5)
    world.script(GOOD)
    after = await smith(world, "run", "-c", "go on", "--json")
    assert after.only("session_started")[0]["resumed"]
    assert after.code == 0


async def test_a_second_ctrl_c_ends_it_at_once_and_its_children_with_it(world: World) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    world.script(running(f"trap '' TERM INT; sleep {mark}; sleep {mark}"))
    process = await start(world, "run", "-y", "go")
    await until(lambda: bool(living(f"sleep {mark}")), 20)
    process.send_signal(signal.SIGINT)
    await asyncio.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert (await ended(process)).code == 130
    await gone(mark, 5)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["TERM", "HUP"])
async def test_other_signals_end_it_as_cleanly(world: World, number: int, code: int) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    world.script(running(f"sleep {mark}"))
    process = await start(world, "run", "-y", "go")
    await until(lambda: bool(living(f"sleep {mark}")), 20)
    process.send_signal(number)
    assert (await ended(process)).code == code
    await gone(mark, 0.5)


async def test_a_run_that_ignores_hangups_goes_on_after_one(world: World) -> None:
    world.script([{"text": "Begun.\n"}, {"wait": 0.3}, {"text": "Done."}])
    line = (
        "trap '' HUP; $smith run go & smith_pid=$!; until [ -s begun ]; do sleep 0.05; done; kill -HUP $smith_pid; wait"
    )
    done = await shell(world, f"({line}) > begun; cat begun")
    assert done.out == "Begun.\nDone.\n"


@pytest.mark.parametrize("stdin", ["open", "closed"])
async def test_standard_input_is_never_waited_for(world: World, stdin: str) -> None:
    world.script(TOUCH, DONE)
    if stdin == "open":
        process = await start(world, "run", "do it")
        assert process.stdin is not None
        process.stdin.write(b"y\ny\ny\n")
        done = await ended(process)
    else:
        done = await shell(world, "$smith run 'do it' <&-")
    assert (done.code, done.out) == (3, "Done.\n")


async def test_when_nobody_reads_any_more_the_turn_stops_quietly(world: World) -> None:
    world.script([{"text": "line\n" * 100_000, "size": 5, "delay": 0.001}, {"wait": 60}], TOUCH, DONE)
    done = await shell(world, "$smith run -y go | head -1; echo ${PIPESTATUS[0]}")
    assert done.out == "line\n1\n"
    assert done.err == "smith: the output cannot be written (Broken pipe); the run is stopped.\nsmith: Cancelled.\n"
    assert not (world.root / "ran").exists()


@pytest.mark.parametrize("flags", ["", "--json"], ids=["text", "json"])
@pytest.mark.parametrize(
    ("redirection", "code", "told"),
    [
        ("> /dev/full", 1, "smith: the output cannot be written (No space left on device)"),
        (">&-", 0, ""),
        ("2>&-", 0, ""),
        (">&- 2>&- <&-", 0, ""),
        ("2>/dev/full", 0, ""),
    ],
    ids=["full disk", "no output", "no error stream", "no stream at all", "full error stream"],
)
async def test_streams_that_cannot_be_used_are_survived(
    world: World, flags: str, redirection: str, code: int, told: str
) -> None:
    world.script([{"text": "Hello."}])
    done = await shell(world, f"$smith run {flags} hi {redirection}; echo $?")
    assert done.out.endswith(f"{code}\n")
    assert done.err.startswith(told)


async def test_nothing_that_a_terminal_obeys_is_printed(world: World) -> None:
    bad = "a\x1b[2Jb\x07c\x9b31md\re\x00\u202ef"
    world.script([{"text": bad}, {"call": bad, "arguments": bad}], [{"error": {"code": "bad_request", "message": bad}}])
    done = await smith(world, "run", "hi")
    assert done.out == "a[2Jbc31mdef\n"
    assert {char for char in done.err if not char.isprintable()} == {"\n"}
    assert done.err.startswith("· a[2Jbc31mdef a[2Jbc31md ef\n")
    assert done.err.endswith("smith: a[2Jbc31mdef\n")


async def test_an_answer_that_the_terminal_cannot_spell_is_printed_all_the_same(world: World) -> None:
    world.environ["PYTHONIOENCODING"] = "ascii"
    world.script([{"text": "caf\u00e9 \U0001f600"}])
    done = await smith(world, "run", "hi")
    assert (done.code, done.out) == (0, "caf? ?\n")


async def test_json_is_one_event_a_line_and_the_result_last(world: World) -> None:
    world.script([{"thinking": "hm"}, {"text": "Wait. \u2028", "size": 2}, *TOUCH], DONE)
    done = await smith(world, "run", "--json", "do it")
    lines = done.lines
    assert done.code == 3
    assert "".join(line["text"] for line in done.only("assistant_text_delta")) == "Wait. \u2028Done."
    assert [line["text"] for line in done.only("assistant_text")] == ["Wait. \u2028", "Done."]
    started, finished = done.only("tool_start")[0], done.only("tool_finished")[0]
    assert (started["tool"], started["args"]) == ("bash", {"command": "touch ran"})
    assert (finished["id"], finished["is_error"]) == (started["id"], True)
    assert {line["conversation"] for line in lines} == {lines[0]["conversation"]}
    assert lines[-1]["type"] == "result"
    assert lines[-1]["denied"] == [{"id": started["id"], "tool": "bash"}]
    assert (lines[-1]["text"], lines[-1]["stop_reason"]) == ("Wait. \u2028Done.", "completed")


async def test_json_of_a_turn_that_fails_ends_with_the_error_and_the_result(world: World) -> None:
    world.script([{"text": "Half"}, {"error": {"code": "overloaded", "message": "too busy"}}])
    done = await smith(world, "run", "--json", "hi")
    error, result = done.only("turn_error")[0], done.lines[-1]
    assert (done.code, error["error"], error["code"]) == (1, "too busy", "overloaded")
    assert (result["type"], result["stop_reason"], result["text"]) == ("result", "error", "Half")


async def test_what_fails_before_the_first_request_prints_no_json(world: World) -> None:
    done = await smith(world, "run", "--json", "hi", "-p", "openai")
    assert (done.code, done.out) == (1, "")
    assert "OPENAI_API_KEY" in done.err


async def test_only_continue_goes_on_with_the_last_conversation(world: World) -> None:
    world.script(GOOD, GOOD, GOOD, loop=True)
    first = await smith(world, "run", "--json", "one")
    second = await smith(world, "--json", "two words")
    third = await smith(world, "--json", "-c", "three words")
    names = [done.lines[-1]["conversation"] for done in (first, second, third)]
    assert names[0] != names[1] == names[2]
    assert third.lines[-1]["turn"] == "t000002"


async def test_a_run_that_failed_before_an_answer_is_not_the_one_to_go_on_with(world: World) -> None:
    world.script(GOOD, loop=True)
    good = (await smith(world, "run", "--json", "one")).lines[-1]["conversation"]
    world.script([{"error": {"code": "auth"}}])
    failed = await smith(world, "run", "--json", "two")
    assert (failed.code, failed.lines[-1]["conversation"] != good) == (1, True)
    world.script(GOOD)
    on = await smith(world, "run", "-c", "--json", "three")
    assert (on.lines[-1]["conversation"], on.lines[-1]["turn"]) == (good, "t000002")
    assert "1 message   two" in (await smith(world, "run", "/history")).out


async def test_a_run_that_failed_behind_an_answer_is_the_one_to_go_on_with(world: World) -> None:
    world.script([{"call": "read", "arguments": {"path": "."}}], [{"error": {"code": "auth"}}])
    failed = await smith(world, "run", "--json", "one")
    world.script(GOOD)
    on = await smith(world, "run", "-c", "--json", "two")
    assert (failed.code, on.code, on.lines[-1]["turn"]) == (1, 0, "t000002")
    assert on.lines[-1]["conversation"] == failed.lines[-1]["conversation"]


async def test_continue_without_a_conversation_says_so_and_begins_one(world: World) -> None:
    world.script(GOOD)
    done = await smith(world, "run", "-c", "hi")
    assert (done.code, done.out) == (0, "All is well.\n")
    assert done.err == "smith: this project has no conversation to go on with; this is a new one.\n"


async def test_the_begin_of_an_id_is_enough_to_go_on_with_a_conversation(world: World) -> None:
    world.script(GOOD, loop=True)
    first = (await smith(world, "run", "--json", "one")).lines[-1]["conversation"]
    assert (await smith(world, "run", "two")).code == 0
    on = await smith(world, "--json", "--resume", first[:8], "three words")
    assert (on.lines[-1]["conversation"], on.lines[-1]["turn"]) == (first, "t000002")
    chat = await shell(world, f"echo four | $smith chat --resume {first}")
    assert (chat.code, f"smith chat --resume {first[:8]}." in chat.err) == (0, True)
    wrong = await smith(world, "run", "--resume", "NONE", "five")
    assert (wrong.code, wrong.out) == (1, "")
    assert wrong.err == ("smith: There is no conversation 'NONE'. In its project, `smith run /history` lists them.\n")


async def test_a_folder_that_is_gone_is_told(world: World) -> None:
    world.script(GOOD)
    done = await shell(world, "mkdir sub; cd sub; rmdir ../sub; $smith run hi")
    assert (done.code, done.out) == (1, "")
    assert done.err == "smith: The folder you are in does not exist any more. Go to another.\n"


async def test_ctrl_c_before_anything_ran_is_quiet(world: World) -> None:
    world.script(GOOD)
    process = await start(world, "run", "hi")
    await until(lambda: (world.home / "smith" / "smith.db").exists(), 20)
    process.send_signal(signal.SIGINT)
    done = await ended(process)
    assert done.code in (0, 130)


@pytest.mark.parametrize("variable", ["LLM_API_KEY", "KEY_OF_MINE"])
async def test_the_key_of_a_provider_reaches_no_command_no_store_no_log_and_no_model(
    world: World, model: LLMock, variable: str
) -> None:
    key = "sk-very-secret-0123456789"
    world.use(model)
    world.settings(f'api_key_env = "{variable}"\n')
    world.environ[variable] = key
    world.file("notes", key)
    model.call_tool("bash", {"command": f"echo ${variable}; cat notes"})
    model.call_tool("read", {"path": "notes"})
    model.reply("Seen.")
    done = await smith(world, "run", "-y", "--json", "show it")
    kept = b"".join(path.read_bytes() for path in (world.home / "smith").rglob("*") if path.is_file())
    assert done.lines[-1]["text"] == "Seen."
    assert [line["result"].count("[key]") for line in done.only("tool_finished")] == [1, 1]
    assert key not in done.out + done.err
    assert key.encode() not in kept
    assert key not in str([request.body for request in model.requests])


async def test_a_line_with_a_slash_is_a_command_and_no_model_sees_it(world: World) -> None:
    world.script(strict=True)
    done = await smith(world, "run", "/role orchestrator")
    assert (done.code, done.out, done.err) == (0, "The role is orchestrator from the next prompt on.\n", "")
    wrong = await smith(world, "run", "/etc/hosts is broken")
    assert (wrong.code, wrong.out) == (1, "")
    assert "There is no command /etc/hosts." in wrong.err
    told = await smith(world, "--json", "run", "/role")
    assert json.loads(told.out.splitlines()[-1])["text"].startswith("* direct")


async def test_two_slashes_begin_a_prompt_with_one(world: World) -> None:
    world.script([{"text": "It looks fine."}])
    done = await smith(world, "--json", "//etc/hosts is broken")
    assert done.code == 0
    assert '"/etc/hosts is broken"' in done.out


@pytest.mark.parametrize("setting", ['deny = ["bash(rm *)"]', 'ask = ["bash"]'], ids=["deny", "ask"])
async def test_what_is_forbidden_and_would_not_be_kept_from_happening_stops_an_unattended_run(
    world: World, setting: str
) -> None:
    world.script(TOUCH, DONE)
    world.settings(f"[approval]\n{setting}\n")
    done = await smith(world, "--yes", "do it now")
    assert (done.code, done.out) == (1, "")
    assert "is not enforced by this version" in done.err
    assert not (world.root / "ran").exists()


@pytest.mark.parametrize("more", [(), ("--yes",)], ids=["prompt", "auto"])
async def test_an_unattended_run_does_not_start_in_a_sandbox_that_is_not_there(
    world: World, more: tuple[str, ...]
) -> None:
    world.script([{"text": "It ran."}])
    world.settings("[sandbox]\nenabled = true\n")
    done = await smith(world, "run", *more, "hi")
    assert (done.code, done.out) == (1, "")
    assert "`sandbox.enabled` is not enforced by this version" in done.err
    assert "Nothing was run" in done.err


async def test_a_rule_stops_no_run_that_refuses_what_nobody_allowed(world: World) -> None:
    world.script([{"text": "It ran."}])
    world.settings('[approval]\ndeny = ["bash(rm *)"]\n')
    done = await smith(world, "run", "hi")
    assert (done.code, done.out) == (0, "It ran.\n")


@pytest.mark.parametrize("words", ["run", "run -", "--json"])
async def test_a_prompt_comes_from_standard_input(world: World, words: str) -> None:
    world.script(GOOD)
    done = await shell(world, f"printf 'say (\\xc3\\xa9)\\nit\\n\\n' | $smith {words}")
    assert done.code == 0, done.err
    assert (await smith(world, "run", "-c", "/export talk.jsonl")).code == 0
    assert r'"say (\u00e9)\nit"' in (world.root / "talk.jsonl").read_text(encoding="utf-8")


async def test_a_run_with_nothing_on_standard_input_has_no_prompt(world: World) -> None:
    for line in ("$smith run", "printf '' | $smith run -", "$smith run <&-", "echo | $smith -y"):
        done = await shell(world, line)
        assert (done.code, done.out) == (1, "")
        assert "there is no prompt" in done.err


async def test_more_on_standard_input_than_a_prompt_may_hold_is_refused(world: World) -> None:
    done = await shell(world, "head -c 10000001 /dev/zero | $smith run")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("smith: The prompt on standard input is above 10,000,000 bytes.")


async def test_what_is_piped_beside_a_prompt_is_not_read(world: World) -> None:
    world.script(GOOD)
    done = await shell(world, "mkfifo way; exec 3<>way; $smith run hi <&3")
    assert (done.code, done.out) == (0, "All is well.\n")
