from pathlib import Path

import pytest

from smith_server.policy.denied import denied_paths

PROJECT, HOME = Path("/work/app"), Path("/home/dev")


@pytest.mark.parametrize(
    ("pattern", "denied", "free"),
    [
        ("**/.env", ["/work/app/.env", "/work/app/a/.env", "/.env"], ["/work/app/.env.local", "/work/app/a.env"]),
        (".env", ["/work/app/.env", "/work/app/.env/x"], ["/work/app/a/.env", "/other/.env"]),
        ("secret/**", ["/work/app/secret", "/work/app/secret/a/b"], ["/work/app/secrets", "/work/app/x/secret"]),
        ("src/*.key", ["/work/app/src/a.key"], ["/work/app/src/b/a.key", "/work/app/a.key"]),
        ("a?.{pem,key}", ["/work/app/ab.pem", "/work/app/ab.key"], ["/work/app/a.pem", "/work/app/ab.pub"]),
        ("a/**/b", ["/work/app/a/b", "/work/app/a/x/y/b"], ["/work/app/a/xb"]),
        ("/etc", ["/etc", "/etc/passwd"], ["/etcetera", "/work/app/etc"]),
        ("~/.ssh", ["/home/dev/.ssh/id", "/home/dev/.ssh"], ["/work/app/.ssh"]),
        ("[a].{b}", ["/work/app/[a].{b}"], ["/work/app/a.b"]),
        ("*", ["/work/app/a"], ["/work/app/a/b"]),
    ],
)
def test_a_pattern_covers_these_paths_and_no_others(pattern, denied, free):
    covers = denied_paths([f" read( {pattern} ) "], PROJECT, HOME)
    assert [path for path in (*denied, *free) if covers(path)] == denied


def test_rules_of_reading_and_searching_tools_count_and_others_do_not():
    rules = ["read(a)", "read_file(b)", "grep(c)", "glob(d)", "code_grep(e)", "bash(f)", "write(g)", "mcp__x", "read"]
    covers = denied_paths(rules, PROJECT, HOME)
    assert [name for name in "abcdefg" if covers(f"/work/app/{name}")] == list("abcde")
    assert denied_paths(["bash(rm *)", "read()"], PROJECT, HOME) is None
