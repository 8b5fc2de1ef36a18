"""Parses a request's head strictly: anything ambiguous is refused."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_REQUEST_LINE = re.compile(rb"(" + _TOKEN + rb") ([!-~]+) HTTP/([0-9])\.([0-9])")
_HEADER = re.compile(rb"(" + _TOKEN + rb"):[ \t]*([\t -~\x80-\xff]*)")
_HOST = re.compile(r"[A-Za-z0-9._\-]*(:[0-9]*)?|\[[0-9A-Fa-f:.]+\](:[0-9]*)?")
_LENGTH = re.compile(r"[0-9]{1,19}")
_ABSOLUTE = re.compile(r"https?://[^/?#]*", re.IGNORECASE)
# Repeated, these would be ambiguous; joined by commas they would change their meaning.
_ONLY_ONCE = frozenset({"host", "content-length", "transfer-encoding", "content-type", "expect"})
_JOINED_OTHERWISE = {"cookie": "; "}


class Refused(Exception):
    """The request is refused; the connection ends with this status."""

    def __init__(self, status: HTTPStatus) -> None:
        self.status = status
        super().__init__(status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    method: str
    path: str
    """As sent, still percent-encoded."""

    query: str
    protocol: str
    headers: Mapping[str, str]
    """Lower-case names; values of repeated headers are joined by commas."""

    content_length: int
    is_chunked: bool
    keeps_alive: bool
    expects_continue: bool


def parse_head(raw: bytes) -> Head:
    """Parse everything before the empty line, which ``raw`` no longer contains."""
    request_line, *lines = raw.split(b"\r\n")
    method, target, protocol = _request_line(request_line)
    headers = _headers(lines)
    _check_host(headers, protocol)
    path, _, query = _origin_form(target).partition("?")
    return Head(
        method=method,
        path=path,
        query=query,
        protocol=protocol,
        headers=headers,
        content_length=_content_length(headers),
        is_chunked=_is_chunked(headers, protocol),
        keeps_alive=_keeps_alive(headers, protocol),
        expects_continue=_expects_continue(headers, protocol),
    )


def _request_line(line: bytes) -> tuple[str, str, str]:
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise Refused(HTTPStatus.BAD_REQUEST)
    method, target, major, minor = (part.decode("ascii") for part in match.groups())
    if major != "1":
        raise Refused(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
    return method, target, "HTTP/1.0" if minor == "0" else "HTTP/1.1"


def _origin_form(target: str) -> str:
    if "#" in target:
        raise Refused(HTTPStatus.BAD_REQUEST)
    if target.startswith("/") or target == "*":
        return target
    match = _ABSOLUTE.match(target)
    if match is None:
        raise Refused(HTTPStatus.BAD_REQUEST)
    rest = target[match.end() :]
    return rest if rest.startswith("/") else f"/{rest}"


def _headers(lines: Iterable[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        # A folded line, a space before the colon, a lone CR or LF or a NUL does not match.
        match = _HEADER.fullmatch(line)
        if match is None:
            raise Refused(HTTPStatus.BAD_REQUEST)
        name = match[1].decode("ascii").lower()
        value = match[2].rstrip(b" \t").decode("latin-1")
        if name not in headers:
            headers[name] = value
        elif name in _ONLY_ONCE:
            raise Refused(HTTPStatus.BAD_REQUEST)
        else:
            headers[name] += _JOINED_OTHERWISE.get(name, ",") + value
    return headers


def _check_host(headers: Mapping[str, str], protocol: str) -> None:
    host = headers.get("host", "" if protocol == "HTTP/1.0" else None)
    if host is None or not _HOST.fullmatch(host):
        raise Refused(HTTPStatus.BAD_REQUEST)


def _content_length(headers: Mapping[str, str]) -> int:
    length = headers.get("content-length", "0")
    if not _LENGTH.fullmatch(length):
        raise Refused(HTTPStatus.BAD_REQUEST)
    return int(length)


def _is_chunked(headers: Mapping[str, str], protocol: str) -> bool:
    encoding = headers.get("transfer-encoding")
    if encoding is None:
        return False
    if encoding.lower() != "chunked" or protocol == "HTTP/1.0" or "content-length" in headers:
        raise Refused(HTTPStatus.BAD_REQUEST)
    return True


def _keeps_alive(headers: Mapping[str, str], protocol: str) -> bool:
    options = {option.strip().lower() for option in headers.get("connection", "").split(",")}
    if protocol == "HTTP/1.0":
        return "keep-alive" in options and "close" not in options
    return "close" not in options


def _expects_continue(headers: Mapping[str, str], protocol: str) -> bool:
    expectation = headers.get("expect")
    if expectation is None or protocol == "HTTP/1.0":
        return False
    if expectation.lower() != "100-continue":
        raise Refused(HTTPStatus.EXPECTATION_FAILED)
    return True
