from pathlib import Path

import pytest

from smith_server.policy.denied import denied_paths

PROJECT, HOME = Path("/srv/app"), Path("/people/dev")


@pytest.mark.parametrize(
    ("pattern", "denied", "free"),
    [
        ("**/.env", ["/srv/app/.env", "/srv/app/a/.env", "/.env"], ["/srv/app/.env.local", "/srv/app/a.env"]),
        (".env", ["/srv/app/.env", "/srv/app/.env/x"], ["/srv/app/a/.env", "/other/.env"]),
        ("secret/**", ["/srv/app/secret", "/srv/app/secret/a/b"], ["/srv/app/secrets", "/srv/app/x/secret"]),
        ("src/*.key", ["/srv/app/src/a.key"], ["/srv/app/src/b/a.key", "/srv/app/a.key"]),
        ("a?.{pem,key}", ["/srv/app/ab.pem", "/srv/app/ab.key"], ["/srv/app/a.pem", "/srv/app/ab.pub"]),
        ("a/**/b", ["/srv/app/a/b", "/srv/app/a/x/y/b"], ["/srv/app/a/xb"]),
        ("/etc", ["/etc", "/etc/passwd"], ["/etcetera", "/srv/app/etc"]),
        ("~/.ssh", ["/people/dev/.ssh/id", "/people/dev/.ssh"], ["/srv/app/.ssh"]),
        ("[a].{b}", ["/srv/app/[a].{b}"], ["/srv/app/a.b"]),
        ("*", ["/srv/app/a"], ["/srv/app/a/b"]),
    ],
)
def test_a_pattern_covers_these_paths_and_no_others(pattern, denied, free):
    covers = denied_paths([f" read( {pattern} ) "], PROJECT, HOME)
    assert [path for path in (*denied, *free) if covers(path)] == denied


def test_rules_of_reading_and_searching_tools_count_and_others_do_not():
    rules = ["read(a)", "read_file(b)", "grep(c)", "glob(d)", "code_grep(e)", "bash(f)", "write(g)", "mcp__x", "read"]
    covers = denied_paths(rules, PROJECT, HOME)
    assert [name for name in "abcdefg" if covers(f"/srv/app/{name}")] == list("abcde")
    assert denied_paths(["bash(rm *)", "read()"], PROJECT, HOME) is None
