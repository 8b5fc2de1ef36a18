"""Payloads and results in S3, accessed by the same signed links that clients get."""

import logging
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cache
from hashlib import sha256
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from taskmill.core.errors import BlobRefused, StoreUnavailable
from taskmill.core.lifetimes import LEDGER_DAYS
from taskmill.core.pointers import LINK_LIVES, Blob, Upload
from taskmill.settings.access import S3Access
from taskmill.stores import tls
from taskmill.stores.guard import Guard
from taskmill.stores.s3.signing import link

STORE: Final = "S3"
CHECKSUM: Final = "x-amz-checksum-sha256"

_CONNECTED_WITHIN: Final = timedelta(seconds=2)
_FIRST_REST: Final = timedelta(milliseconds=200)
_BUSY: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})

_log = logging.getLogger("taskmill.s3")


class _Answer(Struct, frozen=True):
    status: int
    length: int
    body: bytes
    written_at: datetime | None


class S3Blobs:
    def __init__(  # noqa: PLR0913 - time limits and lifetimes, all named
        self,
        access: S3Access,
        *,
        patience: timedelta = timedelta(seconds=10),
        tries: int = 1,
        keeps: timedelta = timedelta(days=LEDGER_DAYS),
        guard: Guard | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._access = access
        self._patience = patience
        self._tries = tries
        self._keeps = keeps
        self._guard = guard or Guard(STORE)
        self._now = now

    def url(self, key: str) -> str:
        return f"{self._home}{key}"

    def upload_link(self, key: str, *, size: int, digest: str) -> Upload:
        """Return the request that uploads this content: S3 refuses another size or hash."""
        headers = {
            "Content-Length": str(size),
            CHECKSUM: b64encode(bytes.fromhex(digest)).decode(),
        }
        url = link(self._access, "PUT", key, now=self._now(), lives=LINK_LIVES, headers=headers)
        return Upload(method="PUT", url=url, headers=headers)

    def download_link(self, url: str) -> str:
        return self._link("GET", url.removeprefix(self._home))

    def look(self, url: str) -> Blob | None:
        """Return the object's metadata; None when there is none, or it is not visible to us.

        Without permission to list the bucket, a missing object gives a 403.
        """
        if not url.startswith(self._home):
            return None
        answer = self._ask("HEAD", self._link("HEAD", url.removeprefix(self._home)))
        if answer.status in {HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN}:
            return None
        if answer.status != HTTPStatus.OK:
            raise _refused("HEAD", url, answer)
        kept_until = (answer.written_at or self._now()) + self._keeps
        return Blob(size=answer.length, kept_until_ms=int(kept_until.timestamp() * 1000))

    def read(self, url: str, *, most: int) -> bytes | None:
        """Return the object, truncated after *most* bytes; None when there is none."""
        if not url.startswith(self._home):
            return None
        answer = self._ask("GET", self._link("GET", url.removeprefix(self._home)), most=most)
        if answer.status == HTTPStatus.NOT_FOUND:
            return None
        if answer.status != HTTPStatus.OK:
            raise _refused("GET", url, answer)
        return answer.body

    def write(self, key: str, content: bytes, *, media_type: str | None = None) -> None:
        upload = self.upload_link(key, size=len(content), digest=sha256(content).hexdigest())
        headers = upload.headers | ({"Content-Type": media_type} if media_type else {})
        answer = self._ask("PUT", upload.url, body=content, headers=headers)
        if answer.status != HTTPStatus.OK:
            raise _refused("PUT", self.url(key), answer)

    @property
    def _home(self) -> str:
        return f"s3://{self._access.bucket}/"

    def _link(self, method: str, key: str) -> str:
        return link(self._access, method, key, now=self._now(), lives=LINK_LIVES)

    def _ask(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        most: int = 0,
    ) -> _Answer:
        """Send the request, and retry after a pause while S3 is busy or unavailable."""
        rest = _FIRST_REST
        for _ in range(self._tries - 1):
            with suppress(StoreUnavailable):
                return self._ask_once(method, url, body, headers or {}, most)
            time.sleep(rest.total_seconds())
            rest *= 3
        return self._ask_once(method, url, body, headers or {}, most)

    def _ask_once(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str], most: int
    ) -> _Answer:
        with self._guard.watch(), self._response(method, url, body, headers) as response:
            answer = _Answer(
                response.status,
                int(response.headers.get("Content-Length") or 0),
                response.read(most + 1)[:most] if most else b"",
                _moment(response.headers.get("Last-Modified")),
            )
            if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status in _BUSY:
                raise StoreUnavailable(STORE, f"it answered {answer.status}")
            return answer

    @contextmanager
    def _response(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Iterator[HTTPResponse]:
        parts = urlsplit(url)
        connection = _connection(parts.scheme, parts.netloc, min(self._patience, _CONNECTED_WITHIN))
        try:
            connection.connect()
            connection.sock.settimeout(self._patience.total_seconds())
            connection.request(method, f"{parts.path}?{parts.query}", body, dict(headers))
            yield connection.getresponse()
        except (OSError, HTTPException) as error:
            why = tls.why(error, setting="the system's store")
            raise StoreUnavailable(STORE, why) from error
        finally:
            connection.close()


def _connection(scheme: str, place: str, patience: timedelta) -> HTTPConnection:
    seconds = patience.total_seconds()
    if scheme == "http":
        return HTTPConnection(place, timeout=seconds)
    return HTTPSConnection(place, timeout=seconds, context=_trust())


@cache
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()


def _moment(text: str | None) -> datetime | None:
    try:
        return parsedate_to_datetime(text) if text else None
    except ValueError:
        return None


def _refused(method: str, url: str, answer: _Answer) -> BlobRefused:
    return BlobRefused(f"S3 answered {answer.status} to {method} {url}")
