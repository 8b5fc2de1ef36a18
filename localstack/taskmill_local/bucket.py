"""The local platform's bucket: the part of S3 that we use, over files in a folder."""

import hmac
import mimetypes
import os
import re
import tempfile
import time
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_WR
from threading import Thread
from typing import IO, Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from taskmill.core.lifetimes import LEDGER_DAYS
from taskmill.stores.s3.signing import ALGORITHM, STAMP, UNSIGNED, SignedRequest

KEY_ID: Final = "taskmill"
SECRET: Final = "local"  # noqa: S105 - it opens only a local folder
_ADDRESS: Final = "127.0.0.1"
_GLANCE_SECONDS: Final = 0.1
_PATIENCE_SECONDS: Final = 30
_LINGER_SECONDS: Final = 2
_CHUNK: Final = 1 << 16
_SKEW: Final = timedelta(minutes=15)
_SEGMENT: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,200}")
_AUTHORIZATION: Final = re.compile(
    rf"{ALGORITHM} Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]+)"
)


class Bucket:
    """Call `start` once, and `stop` in every case; the files stay in the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server: ThreadingHTTPServer | None = None

    def start(self, port: int = 0) -> Mapping[str, str]:
        """Listen, and return the variables that functions need to find and write to it."""
        folder = self._folder

        class Handler(_Conversation):
            home = folder

        self._server = ThreadingHTTPServer((_ADDRESS, port), Handler)
        Thread(target=self._server.serve_forever, args=(_GLANCE_SECONDS,), daemon=True).start()
        Thread(target=_forget_old, args=(folder,), daemon=True).start()
        return {
            "TASKMILL_BUCKET_ENDPOINT": f"http://{_ADDRESS}:{self._server.server_port}",
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()


def _forget_old(folder: Path) -> None:
    """Delete old objects, as the bucket's life-cycle rule does in the cloud."""
    oldest = time.time() - timedelta(days=LEDGER_DAYS).total_seconds()
    for path in folder.rglob("*"):
        if path.is_file() and path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)


class _Refused(Exception):
    def __init__(self, status: HTTPStatus, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class _Conversation(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _PATIENCE_SECONDS
    home: Path

    def do_PUT(self) -> None:
        self._answer(self._put)

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_HEAD(self) -> None:
        self._answer(self._get)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's parameter name
        """Suppress request logs: the functions report failures."""

    def _answer(self, act: Any) -> None:
        self.close_connection = True
        try:
            _check_signature(self)
            act(self._file())
        except _Refused as refused:
            words = f"<Error><Code>{refused.code}</Code><Message>{refused}</Message></Error>"
            self._respond(refused.status, words.encode(), "application/xml")
            self._leave()

    def _leave(self) -> None:
        """Half-close and read on for a moment: closing at once could destroy the response."""
        deadline = time.monotonic() + _LINGER_SECONDS
        with suppress(OSError):
            self.connection.settimeout(_LINGER_SECONDS)
            self.connection.shutdown(SHUT_WR)
            while self.rfile.read1(_CHUNK) and time.monotonic() < deadline:
                pass

    def _file(self) -> Path:
        _, bucket, *segments = unquote(urlsplit(self.path).path).split("/")
        if not segments or not all(map(_SEGMENT.fullmatch, (bucket, *segments))):
            raise _Refused(HTTPStatus.BAD_REQUEST, "InvalidURI", "this is not a valid key")
        return self.home.joinpath(bucket, *segments)

    def _get(self, file: Path) -> None:
        try:
            content = file.read_bytes()
            modified = formatdate(file.stat().st_mtime, usegmt=True)
        except OSError:
            raise _Refused(HTTPStatus.NOT_FOUND, "NoSuchKey", "there is no such object") from None
        kind, _ = mimetypes.guess_type(file.name)
        self._respond(HTTPStatus.OK, content, kind or "application/octet-stream", modified)

    def _put(self, file: Path) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise _Refused(
                HTTPStatus.LENGTH_REQUIRED, "MissingContentLength", "Content-Length is required"
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.home, delete=False) as copy:
            try:
                self._check_content(self._take(int(length), copy))
            except (_Refused, OSError):
                os.unlink(copy.name)  # noqa: PTH108 - the name comes from tempfile
                raise
        os.replace(copy.name, file)  # noqa: PTH105 - as above
        self._respond(HTTPStatus.OK, b"", "application/xml")

    def _take(self, length: int, file: IO[bytes]) -> bytes:
        """Write the body to the file as it arrives, and return its hash."""
        digest, rest = sha256(), length
        while rest:
            chunk = self.rfile.read(min(rest, _CHUNK))
            if not chunk:
                raise _Refused(HTTPStatus.BAD_REQUEST, "IncompleteBody", "the body is incomplete")
            file.write(chunk)
            digest.update(chunk)
            rest -= len(chunk)
        return digest.digest()

    def _check_content(self, digest: bytes) -> None:
        checksum = self.headers.get("x-amz-checksum-sha256")
        signature = self.headers.get("x-amz-content-sha256", UNSIGNED)
        if checksum not in {None, b64encode(digest).decode()} or signature not in {
            UNSIGNED,
            digest.hex(),
        }:
            raise _Refused(
                HTTPStatus.BAD_REQUEST, "BadDigest", "the content does not match the signed hash"
            )

    def _respond(self, status: HTTPStatus, body: bytes, kind: str, modified: str = "") -> None:
        self.send_response(status)
        if modified:
            self.send_header("Last-Modified", modified)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _check_signature(request: BaseHTTPRequestHandler) -> None:
    parts = urlsplit(request.path)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    authorization = _AUTHORIZATION.fullmatch(request.headers.get("Authorization", ""))
    if authorization:
        credential, names, signature = authorization.groups()
        stamp = request.headers.get("x-amz-date", "")
        lives = _SKEW
    else:
        signature = query.pop("X-Amz-Signature", "")
        credential = query.get("X-Amz-Credential", "")
        names, stamp = query.get("X-Amz-SignedHeaders", ""), query.get("X-Amz-Date", "")
        expires = query.get("X-Amz-Expires", "")
        lives = timedelta(seconds=int(expires) if expires.isdecimal() else 0)
    key_id, _, scope = credential.partition("/")
    canonical = SignedRequest(
        method=request.command,
        path=parts.path,
        query=query,
        headers={name: request.headers.get(name, "") for name in names.split(";")},
        payload=request.headers.get("x-amz-content-sha256", UNSIGNED)
        if authorization
        else UNSIGNED,
    )
    correct = canonical.signature(SECRET, stamp=stamp, scope=scope)
    if key_id != KEY_ID or not hmac.compare_digest(correct, signature):
        raise _Refused(
            HTTPStatus.FORBIDDEN,
            "SignatureDoesNotMatch",
            "the signature does not match the request",
        )
    if not -_SKEW < datetime.now(UTC) - _moment(stamp) < lives:
        raise _Refused(HTTPStatus.FORBIDDEN, "AccessDenied", "Request has expired")


def _moment(stamp: str) -> datetime:
    return datetime.strptime(stamp, STAMP).replace(tzinfo=UTC)
