"""An HTTP client for a running system that turns problems into sentences."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from taskmill_local.cli.printing import as_line
from taskmill_local.cli.text import starting

Json = dict[str, Any]

_PATIENCE_SECONDS: Final = 35.0  # the front gives up after 30
LONGEST_WAIT_SECONDS: Final = 25.0


class Unreachable(Exception):
    """The system cannot be reached; the message says where, and what to do next."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Json

    @property
    def is_refusal(self) -> bool:
        return self.status >= HTTPStatus.BAD_REQUEST


class Api:
    """One persistent connection; not thread-safe."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._parts = urlsplit(self.url)
        self._connection: HTTPConnection | None = None

    def submit(self, body: str | Json) -> Answer:
        return self.ask("POST", "/v1/tasks", body)

    def submit_batch(self, tasks: list[Json]) -> Answer:
        return self.ask("POST", "/v1/tasks/batch", {"tasks": tasks})

    def task(self, task_id: str, **query: str) -> Answer:
        return self.ask("GET", f"/v1/tasks/{quote(task_id, safe='')}{_query(query)}")

    def tasks(self, query: Mapping[str, str]) -> Answer:
        return self.ask("GET", f"/v1/tasks{_query(query)}")

    def types(self) -> Answer:
        return self.ask("GET", "/v1/types")

    def stats(self) -> Answer:
        return self.ask("GET", "/v1/stats")

    def platform(self) -> Answer:
        return self.ask("GET", "/platform")

    def mail(self) -> Answer:
        """Return the mails in the platform's mail sink."""
        return self.ask("GET", "/mail")

    def ask(self, method: str, target: str, body: str | Json | None = None) -> Answer:
        text = body if isinstance(body, str | None) else json.dumps(body)
        was_open = self._connection is not None
        try:
            return self._ask(method, target, text)
        except (HTTPException, OSError) as error:
            self.close()
            # Only safe requests are retried: the persistent connection may have been closed.
            if was_open and method == "GET":
                return self.ask(method, target, body)
            raise Unreachable(_complaint(self.url, error)) from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(self, method: str, target: str, text: str | None) -> Answer:
        if self._connection is None:
            self._connection = self._connect()
        headers = {} if text is None else {"Content-Type": "application/json"}
        body = None if text is None else text.encode()
        self._connection.request(method, self._parts.path + target, body, headers)
        response = self._connection.getresponse()
        return Answer(response.status, _parsed(response.read()))

    def _connect(self) -> HTTPConnection:
        kind = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        return kind(self._parts.hostname or "", self._parts.port, timeout=_PATIENCE_SECONDS)


def problem_sentence(answer: Answer) -> str:
    """Return a problem as one sentence that names the field."""
    body = answer.body
    words = body.get("detail") or body.get("title") or body.get("message") or "no reason was given"
    place = f" (at {body['field']})" if body.get("field") else ""
    kind = body.get("type") or f"HTTP {answer.status}"
    return as_line(f"{kind}: {words}{place}")


def _query(parameters: Mapping[str, str]) -> str:
    return f"?{urlencode(parameters)}" if parameters else ""


def _parsed(body: bytes) -> Json:
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"message": body.decode(errors="replace")[:500]}


def _complaint(url: str, error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return (
            f"Nothing answers at {url}. Start the system with `{starting()}`, "
            "or set TASKMILL_URL to where it runs."
        )
    return f"{url} cannot be reached: {error or type(error).__name__}. Is TASKMILL_URL correct?"
