from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.workspace.origin import Origin, project_id, read_origin

ROOT = Path("/srv/work/app")
GITHUB = ("github.com/acme/widgets", "f60ecdb16e5e8e82")


def identity(text: str | None) -> tuple[str, str]:
    origin = read_origin(text, ROOT)
    canonical = origin.canonical if origin else ""
    return canonical, project_id(canonical)


@pytest.mark.parametrize(
    "text",
    [
        "https://github.com/acme/widgets",
        "https://GitHub.com/acme/widgets.git/",
        "https://ann:s3cr3t@github.com/acme/widgets.git",
        "git@github.com:acme/widgets.git",
        "github.com:acme/widgets",
        "ssh://git@github.com/acme/widgets.git",
        "ssh://git@github.com:22/acme/widgets",
        "git://github.com/acme/widgets.git",
        "HTTPS://github.com:/acme/widgets",
        "git+https://github.com:443/acme/widgets#main",
        "git@github.com:acme/widgets.git?depth=1",
        "ssh://github.com/acme/widgets/.git",
    ],
)
def test_every_way_to_the_same_repository_is_one_identity(text: str) -> None:
    assert identity(text) == GITHUB


@pytest.mark.parametrize(
    ("text", "canonical", "id"),
    [
        ("ssh://git@git.example.org:2222/acme/widgets.git", "git.example.org:2222/acme/widgets", "5f7ea5d1a37fb800"),
        ("https://git.example.org:8443/acme/widgets.git", "git.example.org:8443/acme/widgets", "c57a5ed00ef4be30"),
        ("git@git.example.org:2222/acme/widgets.git", "git.example.org/2222/acme/widgets", "f1ada33dd47ff69d"),
        ("git@gitlab.com:group/sub/widgets.git", "gitlab.com/group/sub/widgets", "faccd84de93220c9"),
        ("git@git.example.org:~ann/widgets.git", "git.example.org/~ann/widgets", "2044b24266c551c2"),
        ("ssh://git@git.example.org/~ann/widgets.git", "git.example.org/~ann/widgets", "2044b24266c551c2"),
        ("git@git.example.org:/srv/git/widgets.git", "git.example.org/srv/git/widgets", "035b11d4bdf5591a"),
        ("ssh://git@[2001:db8::1]/acme/widgets.git", "[2001:db8::1]/acme/widgets", "faf82e9e974496b4"),
        ("git@[2001:DB8::1]:acme/widgets.git", "[2001:db8::1]/acme/widgets", "faf82e9e974496b4"),
        ("file:///srv/git/widgets.git", "file:/srv/git/widgets", "5b4bb264aea1afbb"),
        ("FILE://LocalHost/srv//git/./widgets.git", "file:/srv/git/widgets", "5b4bb264aea1afbb"),
        ("/srv/git/widgets.git/", "file:/srv/git/widgets", "5b4bb264aea1afbb"),
        ("file:///srv/work/widgets/.git", "file:/srv/work/widgets", "6b5c625e19a57b4d"),
        ("../widgets", "file:/srv/work/widgets", "6b5c625e19a57b4d"),
    ],
)
def test_an_identity_keeps_what_tells_repositories_apart(text: str, canonical: str, id: str) -> None:
    assert identity(text) == (canonical, id)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        " \n\t ",
        "https://github.com/",
        "https://github.com",
        "https:///acme/widgets",
        "https://./acme",
        "git@github.com:",
        "git@github.com:.git",
        "/",
        "/.git",
        "file://",
        "file://server/share/widgets.git",
        "ftp://github.com/acme/widgets",
        "s3://key:secret@bucket/acme",
        "ext::sh -c id",
        "codecommit::region://acme",
        "--upload-pack=id",
        "ssh://-oProxyCommand=id/acme",
        "git@-oProxyCommand=id:acme",
        "https://github.com:port/acme",
        "https://github.com:65536/acme",
        "https://github.com:0/acme",
        "https://github.com:99999999999/acme",
        "https://git hub.com/acme",
        "https://[::1/acme",
        "https://github.com/ac\nme",
        "https://github.com/ac\x00me",
        "https://github.com/ac\x85me",
        "https://github.com/" + "a" * 5000,
    ],
)
def test_what_names_no_repository_is_no_identity(text: str | None) -> None:
    assert read_origin(text, ROOT) is None
    assert project_id("") == ""


def test_forks_are_different_projects() -> None:
    assert identity("https://github.com/acme/widgets") != identity("https://github.com/ann/widgets")


def test_a_transport_on_a_port_of_its_own_is_another_project() -> None:
    assert identity("ssh://git@git.example.org:2222/a/b") != identity("https://git.example.org/a/b")


def test_a_drive_letter_is_a_path_and_a_user_before_one_letter_is_a_host() -> None:
    assert identity("C:/widgets")[0] == "file:/srv/work/app/C:/widgets"
    assert identity("git@h:acme/widgets")[0] == "h/acme/widgets"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://ann:s3cr3t@github.com/acme/widgets.git", "https://github.com/acme/widgets.git"),
        ("https://s3cr3t@github.com:8443/acme/widgets", "https://github.com:8443/acme/widgets"),
        ("https://ann:p@s3cr3t@github.com/acme/widgets", "https://github.com/acme/widgets"),
        ("https://github.com/acme/widgets.git?token=s3cr3t#x", "https://github.com/acme/widgets.git"),
        ("ssh://ann:s3cr3t@[::1]:2222/acme", "ssh://[::1]:2222/acme"),
        ("git@github.com:acme/widgets.git", "github.com:acme/widgets.git"),
        ("../widgets.git", "../widgets.git"),
        ("file:///srv/git/widgets.git", "file:///srv/git/widgets.git"),
    ],
)
def test_an_origin_is_shown_without_user_password_and_query(text: str, shown: str) -> None:
    origin = read_origin(text, ROOT)

    assert origin is not None
    assert origin.shown == shown


@pytest.mark.parametrize(
    "text",
    [
        "https://ann:s3/cr3t@github.com/acme",
        "https://ann:s3#cr3t@github.com/acme",
        "ann:s3cr3t@github.com:acme/widgets",
        "file://ann:s3cr3t@localhost/acme",
        "helper::https://ann:s3cr3t@github.com/acme",
    ],
    ids=["slash in the password", "hash in the password", "password before a path", "file with a user", "helper"],
)
def test_a_password_that_cannot_be_told_from_the_rest_is_not_shown_at_all(text: str) -> None:
    assert read_origin(text, ROOT) is None


words = st.text(st.characters(blacklist_categories=("Cs",)), max_size=8)
addresses = st.tuples(
    st.sampled_from(["", "https://", "ssh://", "file://", "git+ssh://", "odd://"]),
    st.sampled_from(["", "u@", "u:TOPSECRET@", "u:TOP@SECRET@"]),
    st.sampled_from(["host", "HOST.", "[::1]", "", "-x"]),
    st.sampled_from(["", ":", ":22", ":x"]),
    st.sampled_from(["", "/"]),
    words,
    st.sampled_from(["", ".git", "/.git", "/", "?q=TOPSECRET"]),
).map("".join)


@given(st.one_of(addresses, st.text(max_size=40)))
def test_any_text_is_an_identity_of_the_right_form_or_none(text: str) -> None:
    origin = read_origin(text, ROOT)
    if origin is None:
        return
    assert origin.canonical == origin.canonical.rstrip("/")
    assert "//" not in origin.canonical
    assert len(project_id(origin.canonical)) == 16
    if text.startswith(("https:", "ssh:", "git+ssh:")):
        assert "SECRET" not in origin.shown + origin.canonical
    assert origin == read_origin(f" {text}\n", ROOT)


def test_an_origin_is_a_value() -> None:
    assert read_origin("git@h.org:a/b", ROOT) == Origin("h.org/a/b", "h.org:a/b")
