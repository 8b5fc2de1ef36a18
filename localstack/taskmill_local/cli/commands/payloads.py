"""Reads payloads as typed, and uploads those that are too large for a request."""

import argparse
import json
import sys
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from taskmill.submission.request import PAYLOAD_BYTES
from taskmill_local.cli.api import Answer, Api, Json
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.printing import complain
from taskmill_local.cli.reporting import WrongUsage, address, refused, report
from taskmill_local.cli.text import one_line
from taskmill_local.errors import PlatformError

_PATIENCE_SECONDS: Final = 60.0


class UploadFailed(PlatformError):
    """The bucket refused the payload or could not be reached."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Where a payload may be uploaded, or why not; the task then carries the pointer."""

    answer: Answer

    @property
    def pointer(self) -> Json:
        return dict(self.answer.body["payload_ref"])


def payload_of(options: argparse.Namespace) -> str:
    if options.file is not None and options.payload is not None:
        raise WrongUsage("Give the payload as an argument or with --file, not both.")
    return json_text(read(options.file)) if options.file is not None else json_text(options.payload)


def json_text(argument: str | None) -> str:
    """Return the text unchanged after checking that it is JSON."""
    text = argument or "{}"
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = 'Quote it for the shell, such as \'{"say": "hello"}\'.'
        raise WrongUsage(f"The payload is not JSON: {error}. {hint}") from error
    return text


def read(path: str) -> str:
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUsage(f"The payload cannot be read: {error}.") from error


def with_payload(fields: Json, payload: str) -> str:
    return f'{json.dumps(fields)[:-1]}, "payload": {payload}}}'


def is_large(payload: str) -> bool:
    """Return whether the payload is too large for a request."""
    return len(payload.encode()) > PAYLOAD_BYTES


def upload(options: argparse.Namespace) -> Exit:
    """Upload a payload and print the reference that a task carries instead."""
    try:
        payload = json_text(read(options.file))
    except WrongUsage as wrong:
        return complain(str(wrong), Exit.USAGE)
    offer = uploaded(Api(address()), options.type, payload)
    if offer.answer.is_refusal:
        return refused(offer.answer)
    return report(Answer(HTTPStatus.OK, offer.pointer), options, one_line)


def uploaded(api: Api, task_type: str, payload: str) -> Offer:
    content = payload.encode()
    request = {"type": task_type, "size": len(content), "sha256": sha256(content).hexdigest()}
    answer = api.ask("POST", "/v1/payloads", request)
    if not answer.is_refusal:
        _put(answer.body["upload"], content)
    return Offer(answer)


def _put(link: Json, content: bytes) -> None:
    parts = urlsplit(link["url"])
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_PATIENCE_SECONDS)
    place = f"{parts.scheme}://{parts.netloc}"
    try:
        target = f"{parts.path}?{parts.query}"
        connection.request(link["method"], target, content, link["headers"])
        response = connection.getresponse()
        words = response.read(500).decode(errors="replace")
    except (HTTPException, OSError) as error:
        raise UploadFailed(f"The bucket at {place} cannot be reached: {error}.") from error
    finally:
        connection.close()
    if response.status != HTTPStatus.OK:
        raise UploadFailed(f"The bucket at {place} refused the payload: {words}")
