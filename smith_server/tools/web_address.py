"""What an address on the web really names, and which hosts and networks nobody is led to. Pure.

Only spellings that every program reads alike are taken; anything else is refused, also where it
would be harmless.
"""

import ipaddress
import re
import unicodedata
from urllib.parse import quote

from msgspec import Struct

from smith_server.core.errors import ToolRefusal
from smith_server.tools.output import visible

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_SPLIT = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<slashes>//)?(?P<authority>[^/?#]*)(?P<path>[^#]*)")
_PLAIN_HOST = re.compile(r"[a-z0-9._\u0080-\U0010ffff-]+")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_QUAD = re.compile(r"(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}")
_PORT = re.compile(r"[0-9]{1,5}")
_KEPT = "!$&'()*+,/:;=?@[]~%-._"
_LONGEST_LABEL, _LONGEST_NAME = 63, 253

_METADATA_NAMES = (
    "metadata",
    "instance-data",
    "metadata.goog",
    "metadata.google.internal",
    "instance-data.ec2.internal",
    "metadata.tencentyun.com",
)
_LOCAL_NAMES = ("localhost", "local", "internal", "home.arpa", "lan", "intranet", "corp", "home", "localdomain")

_V4_SHUT = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24"
    " 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
)
_V4_OWN = "10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16"
_V6_SHUT = "2001::/23 2001:db8::/32 2002::/16 3fff::/20"
_V6_OWN = "::1/128 fc00::/7"
_V6_OPEN = "2000::/3"
_WITH_V4_INSIDE = "::ffff:0:0/96 64:ff9b::/96"
_METADATA = (
    "169.254.169.254 169.254.170.2 169.254.170.23 fd00:ec2::254 fd00:ec2::23 fd20:ce::254"
    " 100.100.100.200 168.63.129.16 192.0.0.192"
)


class Target(Struct, frozen=True):
    """Where a request goes. `host` is lower-case ASCII, `path` holds the query, the fragment is gone."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port as a `Host` header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _default_port(self.scheme) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def parse_url(url: str) -> Target:
    """What `url` names. Raises `bad_url` with the reason."""
    check_characters(url)
    found = _SPLIT.match(url)
    if found is None or found["scheme"].lower() not in ("http", "https"):
        raise _bad(url, "only http and https addresses can be fetched")
    if not found["slashes"]:
        raise _bad(url, "// and a host have to follow the scheme")
    scheme = found["scheme"].lower()
    host, port = _host_and_port(url, found["authority"])
    path = found["path"] if found["path"].startswith("/") else f"/{found['path']}"
    return Target(scheme, host, port or _default_port(scheme), quote(path, safe=_KEPT))


def check_characters(url: str) -> None:
    """Raise `bad_url` for characters that programs read in different ways."""
    if any(char == "\\" or char.isspace() or unicodedata.category(char) in ("Cc", "Cs") for char in url):
        raise _bad(url, "it holds a blank, a control character or a backslash")


def check_name(host: str, *, allow_private: bool) -> None:
    """Raise `forbidden_host` for a name of this machine, of the local network, or of a cloud's metadata."""
    if any(_is_below(host, name) for name in _METADATA_NAMES):
        raise ToolRefusal("forbidden_host", f"{host} gives out a machine's credentials. It is never fetched.")
    if not allow_private and ("." not in host or any(_is_below(host, name) for name in _LOCAL_NAMES)):
        raise ToolRefusal(
            "forbidden_host", f"{host} is a name of the local network. It is fetched only with web.allow_private."
        )


def literal(host: str) -> IPAddress | None:
    """The address that a host of `parse_url` is, None when it is a name."""
    if ":" in host:
        return ipaddress.IPv6Address(host)
    return ipaddress.IPv4Address(host) if _QUAD.fullmatch(host) else None


def check_address(address: IPAddress, host: str, *, allow_private: bool) -> None:
    """Raise `forbidden_address` for what is not on the public internet.

    `allow_private` admits this machine and private networks, metadata and link-local ones never.
    """
    meant = _meant(address)
    own = allow_private and meant not in _METADATA_ADDRESSES and _within(meant, _V4_OWN, _V6_OWN)
    if own or _is_public(meant):
        return
    raise ToolRefusal(
        "forbidden_address",
        f"{host} is at {address}, which is not an address of the public internet. It was not asked.",
    )


def _host_and_port(url: str, authority: str) -> tuple[str, int]:
    if "@" in authority:
        raise _bad(url, "a user name in it may hide where it leads")
    if authority.startswith("["):
        inner, bracket, rest = authority[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise _bad(url, "the brackets around its host are wrong")
        return _six(url, inner), _port(url, rest[1:])
    host, _, port = authority.partition(":")
    return _host(url, host), _port(url, port)


def _port(url: str, text: str) -> int:
    if not text:
        return 0
    if not _PORT.fullmatch(text) or not 1 <= int(text) <= 65535:
        raise _bad(url, "its port is none")
    return int(text)


def _six(url: str, text: str) -> str:
    try:
        if "%" in text:
            raise ValueError
        return str(ipaddress.IPv6Address(text))
    except ValueError:
        raise _bad(url, "what stands in its brackets is no IPv6 address without a zone") from None


def _host(url: str, text: str) -> str:
    host = unicodedata.normalize("NFKC", text).replace("\u3002", ".").lower().removesuffix(".")
    labels = host.split(".")
    if not all(labels):
        raise _bad(url, "its host is empty, or a part of it is")
    if not _PLAIN_HOST.fullmatch(host) or visible(host) != host:
        raise _bad(url, "its host holds a character that no host has")
    if _NUMBER.fullmatch(labels[-1]):
        return _four(url, host)
    labels = [label if label.isascii() else f"xn--{label.encode('punycode').decode()}" for label in labels]
    name = ".".join(labels)
    if len(name) > _LONGEST_NAME or any(len(label) > _LONGEST_LABEL for label in labels):
        raise _bad(url, "its host is too long")
    return name


def _four(url: str, host: str) -> str:
    if not _QUAD.fullmatch(host) or any(int(part) > 255 for part in host.split(".")):
        raise _bad(url, "a numeric host has to be four decimal numbers, like 192.0.2.1")
    return host


def _default_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _is_below(host: str, name: str) -> bool:
    return host == name or host.endswith(f".{name}")


def _meant(address: IPAddress) -> IPAddress:
    """The IPv4 address inside of a mapped or translated IPv6 one."""
    if isinstance(address, ipaddress.IPv6Address) and _within(address, "", _WITH_V4_INSIDE):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _is_public(address: IPAddress) -> bool:
    if address in _METADATA_ADDRESSES:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return not _within(address, _V4_SHUT, "")
    return _within(address, "", _V6_OPEN) and not _within(address, "", _V6_SHUT)


def _within(address: IPAddress, four: str, six: str) -> bool:
    networks = four if isinstance(address, ipaddress.IPv4Address) else six
    return any(address in ipaddress.ip_network(network) for network in networks.split())


_METADATA_ADDRESSES = frozenset(map(ipaddress.ip_address, _METADATA.split()))


def _bad(url: str, why: str) -> ToolRefusal:
    return ToolRefusal("bad_url", f"{visible(url[:200])} cannot be fetched: {why}.")
