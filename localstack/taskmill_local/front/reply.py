"""Converts a function's response to an HTTP response."""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

from taskmill_local.front.head import Head
from taskmill_local.lambdas.answer import Answer, Failed, Failure

_JSON = "application/json"
_TEXT = "text/plain;charset=UTF-8"
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t -~\x80-\U0010ffff]*")
# The front frames the response itself; the function's headers would contradict it.
_FRAMING = frozenset(
    {"connection", "content-length", "date", "keep-alive", "transfer-encoding", "upgrade"}
)
_WITHOUT_BODY = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
# Defined here because the phrases of HTTPStatus differ between Python versions.
_MESSAGES: Mapping[HTTPStatus, str] = {
    HTTPStatus.BAD_REQUEST: "Bad Request",
    HTTPStatus.NOT_FOUND: "Not Found",
    HTTPStatus.REQUEST_TIMEOUT: "Request Timeout",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Request Entity Too Large",
    HTTPStatus.EXPECTATION_FAILED: "Expectation Failed",
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: "Request Header Fields Too Large",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Internal Server Error",
    HTTPStatus.SERVICE_UNAVAILABLE: "Service Unavailable",
    HTTPStatus.HTTP_VERSION_NOT_SUPPORTED: "HTTP Version Not Supported",
}
_STATUS_OF: Mapping[Failure, HTTPStatus] = {
    Failure.REQUEST_TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    Failure.STOPPING: HTTPStatus.SERVICE_UNAVAILABLE,
}


class _Malformed(Exception):
    """The function returned something that is not an HTTP response."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = (("content-type", _JSON),)


def own_reply(status: HTTPStatus) -> Reply:
    return Reply(status, json.dumps({"message": _MESSAGES[status]}).encode())


def reply_of(answer: Answer) -> Reply:
    if isinstance(answer, Failed):
        return own_reply(_STATUS_OF.get(answer.failure, HTTPStatus.INTERNAL_SERVER_ERROR))
    try:
        return _reply_of_json(answer.body)
    except _Malformed:
        return own_reply(HTTPStatus.INTERNAL_SERVER_ERROR)


def encode(reply: Reply, *, head: Head | None, request_id: str, closes: bool) -> bytes:
    """Encode the whole response as one piece, so that it leaves in one packet if it fits."""
    lines = [f"HTTP/1.1 {reply.status} {_phrase(reply.status)}", f"date: {formatdate(usegmt=True)}"]
    lines += [f"{name}: {value}" for name, value in reply.headers]
    if reply.status not in _WITHOUT_BODY:
        lines.append(f"content-length: {len(reply.body)}")
    lines.append(f"apigw-requestid: {request_id}")
    if closes:
        lines.append("connection: close")
    elif head is not None and head.protocol == "HTTP/1.0":
        lines.append("connection: keep-alive")
    is_silent = reply.status in _WITHOUT_BODY or (head is not None and head.method == "HEAD")
    text = "\r\n".join(lines) + "\r\n\r\n"
    return text.encode() + (b"" if is_silent else reply.body)


def _phrase(status: int) -> str:
    try:
        standard = HTTPStatus(status)
    except ValueError:
        return ""
    return _MESSAGES.get(standard, standard.phrase)


def _reply_of_json(body: bytes) -> Reply:
    try:
        value = json.loads(body)
    except ValueError as error:
        raise _Malformed from error
    if isinstance(value, dict) and "statusCode" in value:
        return _full_reply(value)
    # A function may return its body alone; a string is then sent without its quotes.
    return Reply(HTTPStatus.OK, value.encode() if isinstance(value, str) else body)


def _full_reply(value: Mapping[str, Any]) -> Reply:
    headers = [pair for pair in _headers(value.get("headers")) if pair[0] not in _FRAMING]
    if all(name != "content-type" for name, _ in headers):
        headers.append(("content-type", _TEXT))
    cookies = value.get("cookies") or []
    if not isinstance(cookies, list):
        raise _Malformed
    headers += [("set-cookie", _checked(cookie)) for cookie in cookies]
    return Reply(_status(value["statusCode"]), _body(value), tuple(headers))


def _status(code: Any) -> int:
    digits = str(code)
    if not re.fullmatch(r"[2-5][0-9]{2}", digits, re.ASCII):
        raise _Malformed
    return int(digits)


def _headers(headers: Any) -> list[tuple[str, str]]:
    if not isinstance(headers, dict | None):
        raise _Malformed
    pairs = [(name.lower(), _checked(value)) for name, value in (headers or {}).items()]
    if not all(_NAME.fullmatch(name) for name, _ in pairs):
        raise _Malformed
    return pairs


def _checked(value: Any) -> str:
    text = json.dumps(value) if isinstance(value, bool | int | float) else value
    if not isinstance(text, str) or not _VALUE.fullmatch(text):
        raise _Malformed
    return text


def _body(value: Mapping[str, Any]) -> bytes:
    body = value.get("body")
    if body is None:
        return b""
    if not isinstance(body, str):
        raise _Malformed
    if not value.get("isBase64Encoded"):
        return body.encode("utf-8", "replace")
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error as error:
        raise _Malformed from error
