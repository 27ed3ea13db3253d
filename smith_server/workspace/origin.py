"""Where a repository came from, as one spelling: the same for every transport and every clone. Pure.

`https://ann:secret@GitHub.com/acme/widgets.git` and `git@github.com:acme/widgets` are both
`github.com/acme/widgets`; a local repository is `file:` and its path. A canonical text is no
address: it is never read as an origin again.
"""

import hashlib
import os
import re
from pathlib import Path

from msgspec import Struct

_PORTS = {"https": 443, "http": 80, "ssh": 22, "git": 9418, "git+ssh": 22, "git+https": 443}
_LONGEST = 4096
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)")
_SCP = re.compile(r"(?P<user>[^/:]*@)?(?P<host>\[[^\]/]*\]|[^/:]+):(?P<path>.*)")
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{0,5}))?")
_HOST = re.compile(r"\[[0-9a-f:.%]*:[0-9a-f:.%]*\]|[^\s\[\]-][^\s\[\]]*")
_HIDDEN_USER = re.compile(r"[^/]*@[^/]*:")


class Origin(Struct, frozen=True):
    """`canonical` is the identity, `shown` the origin as it may be shown: no user, no password, no query."""

    canonical: str
    shown: str


def read_origin(text: str | None, root: Path) -> Origin | None:
    """The origin that `remote.origin.url` holds; a relative path counts from `root`.

    None for what is no identity: nothing, an unknown transport, no path, an option, a control
    character, a text beyond all measure.
    """
    said = (text or "").strip()
    if not said or len(said) > _LONGEST or said.startswith("-"):
        return None
    if _CONTROL.search(said) or _HELPER.match(said):
        return None
    if url := _URL.fullmatch(said):
        return _of_url(url[1].lower(), url[2])
    if (scp := _SCP.fullmatch(said)) and not _is_drive(scp):
        return _of_scp(scp)
    return _local(str(root / said), said)


def project_id(canonical: str) -> str:
    """The id of a project: 16 hex digits; "" when there is no identity."""
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:16] if canonical else ""


def _of_url(scheme: str, rest: str) -> Origin | None:
    if scheme == "file":
        machine, slash, path = rest.partition("/")
        return _local(slash + path, f"file://{rest}") if machine.lower() in ("", "localhost") else None
    if scheme not in _PORTS:
        return None
    before, slash, path = re.split(r"[?#]", rest, maxsplit=1)[0].partition("/")
    found = _AUTHORITY.fullmatch(before.rpartition("@")[2])
    if found is None or (host := _host(found["host"])) is None:
        return None
    port = int(found["port"] or _PORTS[scheme])
    if not 0 < port < 1 << 16:
        return None
    named = host if port == _PORTS[scheme] else f"{host}:{port}"
    return _remote(named, path, f"{scheme}://{found[0]}{slash}{path}")


def _of_scp(found: re.Match[str]) -> Origin | None:
    """`user@host:path`. Without the user, what looks like one with a password is not taken apart."""
    host, path = _host(found["host"]), re.split(r"[?#]", found["path"], maxsplit=1)[0]
    if host is None or _HIDDEN_USER.match(path):
        return None
    return _remote(host, path, f"{found['host']}:{path}")


def _is_drive(found: re.Match[str]) -> bool:
    return not found["user"] and len(found["host"]) == 1


def _host(text: str) -> str | None:
    host = text.lower().removesuffix(".")
    return host if _HOST.fullmatch(host) else None


def _remote(host: str, path: str, shown: str) -> Origin | None:
    name = _without_suffix(re.sub("/+", "/", path).strip("/")).strip("/")
    return Origin(f"{host}/{name}", shown) if name else None


def _local(path: str, shown: str) -> Origin | None:
    name = _without_suffix(re.sub("/+", "/", os.path.normpath(path))).rstrip("/")
    return Origin(f"file:{name}", shown) if name and path else None


def _without_suffix(path: str) -> str:
    return path.removesuffix(".git")
