"""The SSRF guard: which URLs, and which of their addresses, may be called."""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias

from msgspec import Struct

LONGEST_URL: Final = 2_048
HTTPS_PORT: Final = 443
DEPTH_HEADER: Final = "taskmill-depth"
"""Marks a request made by a task."""

Address: TypeAlias = IPv4Address | IPv6Address

_PARTS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(.*)", re.DOTALL)
_PLACE = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{1,5}))?", re.ASCII)
_PRINTABLE = re.compile(r"[!-~]*")
_NEVER_IN_URLS = frozenset('"<>\\^`{|}')
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*", re.ASCII)
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z)(?:{_LABEL}\.)+{_LABEL}", re.ASCII)
_NOT_HTTPS = "the URL must begin with https://"
_LOCALHOST = "localhost"
_INNER_ENDINGS = (".localhost", ".local", ".localdomain", ".internal", ".intranet", ".home.arpa")

# The registries of special addresses, and the allocated one of 2000::/3. `ipaddress` is not used:
# it calls multicast global, and its answers differ between Python versions.
_INNER_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network; 0.0.0.0 leads to this machine
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT; some clouds' own services
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud's own service on a public address
        "169.254.0.0/16",  # link-local; metadata services of machines and functions
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved and broadcast
    )
)
_HANDED_OUT_V6 = IPv6Network("2000::/3")
_INNER_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, and Teredo, which embeds an IPv4 address
        "2001:db8::/32",
        "2002::/16",  # 6to4, which embeds an IPv4 address
        "2620:4f:8000::/48",
        "3fff::/20",
    )
)


class Blocked(Struct, frozen=True):
    """The call is not allowed; the message says why and reveals nothing about the network."""

    why: str


class Target(Struct, frozen=True, kw_only=True):
    """A URL that was parsed once; callers never parse a URL again."""

    is_secure: bool
    host: str
    port: int
    path: str
    """With its query, as in the request line."""

    is_loopback: bool = False
    """The target is the caller's own machine, and nothing else is called."""

    @property
    def place(self) -> str:
        """The host as headers and URLs name it, with the port if it is not the default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_secure else 80) else f"{host}:{self.port}"

    @property
    def endpoint(self) -> str:
        """The URL without its query, which identifies a receiver."""
        scheme = "https" if self.is_secure else "http"
        return f"{scheme}://{self.place}{self.path.partition('?')[0]}"


def target_of(url: str, *, reaches_loopback: bool = False) -> Target | Blocked:
    """Parse a URL strictly; with *reaches_loopback* it may also name this machine."""
    if len(url) > LONGEST_URL:
        return Blocked(f"the URL has {len(url)} characters; the limit is {LONGEST_URL}")
    parts = _PARTS.fullmatch(url)
    if parts is None:
        return Blocked("the URL must look like https://host/path")
    scheme, place, rest = parts.groups()
    if wrong := _wrong_letters(place, rest):
        return Blocked(wrong)
    return _target(scheme.lower(), place.lower(), rest, reaches_loopback=reaches_loopback)


def vetted(target: Target, addresses: Sequence[str]) -> Sequence[str] | Blocked:
    """Return the addresses of a target's host if all of them may be called."""
    candidates = [_address(text) for text in addresses]
    if any(one is None or _is_blocked(one, target) for one in candidates):
        return Blocked(f"{target.host} leads to an address that is not public")
    return [str(one) for one in candidates]


def _wrong_letters(place: str, rest: str) -> str | None:
    if not place.isascii():
        return f"the host must be written in ASCII{_in_punycode(place.rpartition('@')[2])}"
    if "#" in rest:
        return "the URL must not have a fragment: it would never be sent"
    letters = place + rest
    if not _PRINTABLE.fullmatch(letters) or _NEVER_IN_URLS & set(letters):
        return "the URL contains an invalid character: percent-encode it"
    return None


def _in_punycode(place: str) -> str:
    """Show the true form of a name that may imitate another one."""
    try:
        return f", which is {place.encode('idna').decode()}"
    except UnicodeError:
        return ""


def _target(scheme: str, place: str, rest: str, *, reaches_loopback: bool) -> Target | Blocked:
    if scheme not in {"http", "https"}:
        return Blocked(_NOT_HTTPS)
    if "@" in place:
        return Blocked("the URL must not contain a user or password")
    where = _PLACE.fullmatch(place)
    if where is None:
        return Blocked("the URL must look like https://host/path")
    host = _host(where["host"])
    if isinstance(host, Blocked):
        return host
    is_loopback = host == _LOCALHOST or (not isinstance(host, str) and host.is_loopback)
    if wrong := _wrong_way(scheme, where["port"], is_here=is_loopback and reaches_loopback):
        return Blocked(wrong)
    target = Target(
        is_secure=scheme == "https",
        host=str(host),
        port=int(where["port"] or (HTTPS_PORT if scheme == "https" else 80)),
        path=rest if rest.startswith("/") else f"/{rest}",
        is_loopback=is_loopback,
    )
    if is_loopback and not reaches_loopback:
        return Blocked(f"{target.host} is not public")
    if not isinstance(host, str) and _is_blocked(host, target):
        return Blocked(f"{target.host} is not a public address")
    return target


def _wrong_way(scheme: str, port: str | None, *, is_here: bool) -> str | None:
    """Return what is wrong with scheme and port; on this machine any port is allowed."""
    if scheme != "https" and not (scheme == "http" and is_here):
        return _NOT_HTTPS
    if port is not None and not is_here and int(port) != HTTPS_PORT:
        return f"the port must be {HTTPS_PORT}, not {int(port)}"
    return f"there is no port {port}" if port and not 0 < int(port) < 65_536 else None  # noqa: PLR2004 - TCP's


def _host(text: str) -> str | Address | Blocked:
    """Return a name or an address; refuse what only some parsers read as an address."""
    if text.startswith("["):
        address = _address(text[1:-1])
        return (
            address if isinstance(address, IPv6Address) else Blocked("the host is not an address")
        )
    if _NUMBER.fullmatch(text.rpartition(".")[2]):
        address = _address(text)
        return address or Blocked(
            "the host is an address in an unusual form: write it as 192.0.2.1"
        )
    if text == _LOCALHOST:
        return text
    if not _NAME.fullmatch(text):
        return Blocked("the host must be a full name, as example.com")
    if text.endswith(_INNER_ENDINGS):
        return Blocked(f"{text} is not public")
    return text


def _address(text: str) -> Address | None:
    """Parse an address in canonical form, without a zone."""
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def _is_blocked(address: Address, target: Target) -> bool:
    return not address.is_loopback if target.is_loopback else not _is_public(address)


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _INNER_V4)
    # Everything else embeds an IPv4 address, is local or is unassigned.
    return address in _HANDED_OUT_V6 and not any(address in network for network in _INNER_V6)
