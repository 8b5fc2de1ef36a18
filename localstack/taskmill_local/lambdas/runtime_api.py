"""The Runtime API of one execution environment: HTTP/1.1 on its own loopback port."""

import asyncio
import contextlib
import select
from http import HTTPStatus
from typing import Final, Protocol

from taskmill_local.lambdas.answer import RESPONSE_LIMIT

_HEAD_LIMIT: Final = 65_536
_LOSS_SECONDS: Final = 1.0  # the connection's process is gone; news of that is on the way
_ROOT: Final = "/2018-06-01/runtime/"
_INVOCATION: Final = _ROOT + "invocation/"
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class RuntimeCalls(Protocol):
    """The calls of an environment's process to the platform."""

    def polled(self) -> None: ...

    def poll_lost(self) -> None: ...

    def responded(self, request_id: str, body: bytes | None) -> bool:
        """Take the response, ``None`` if too large; return False if no such invocation runs."""

    def failed(self, request_id: str, body: bytes | None) -> bool: ...

    def init_failed(self, body: bytes) -> None: ...


class RuntimeApi:
    def __init__(self, calls: RuntimeCalls) -> None:
        self._calls = calls
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()
        self._waiting: _Connection | None = None
        self._delivered: _Connection | None = None
        self._unread = False

    async def open(self) -> str:
        """Listen, and return the address for ``AWS_LAMBDA_RUNTIME_API``."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        return f"{host}:{port}"

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in tuple(self._connections):
            connection.abort()

    def is_polled(self) -> bool:
        """Return whether a process waits for an event, even if news of its death is on the way."""
        return self._waiting is not None and not self._waiting.has_hung_up()

    def deliver(self, reply: bytes) -> None:
        assert self._waiting is not None  # noqa: S101 - only polled environments get work
        self._delivered, self._waiting, self._unread = self._waiting, None, False
        self._delivered.write(reply)

    async def was_unread(self) -> bool:
        """Return whether the process died before it had read its whole event.

        The kernel resets a connection whose socket is closed with unread data.
        """
        if self._delivered is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._delivered.lost.wait(), _LOSS_SECONDS)
        return self._unread

    def connected(self, connection: "_Connection") -> None:
        self._connections.add(connection)

    def lost(self, connection: "_Connection", error: Exception | None) -> None:
        self._connections.discard(connection)
        if connection is self._delivered:
            self._unread = error is not None
        if connection is self._waiting:
            self._waiting = None
            self._calls.poll_lost()

    def answer(self, connection: "_Connection", method: str, path: str, body: bytes | None) -> None:
        if (method, path) == ("GET", _INVOCATION + "next"):
            self._waiting = connection
            self._calls.polled()
            return
        connection.write(_REPLIES[self._status_of(method, path, body)])

    def _status_of(self, method: str, path: str, body: bytes | None) -> HTTPStatus:
        if method == "POST" and path == _ROOT + "init/error":
            self._calls.init_failed(body or b"")
            return HTTPStatus.ACCEPTED
        request_id, _, verb = path.removeprefix(_INVOCATION).partition("/")
        if method != "POST" or not path.startswith(_INVOCATION) or verb not in _ENDINGS:
            return HTTPStatus.NOT_FOUND
        take = self._calls.responded if verb == "response" else self._calls.failed
        if not take(request_id, body):
            return HTTPStatus.BAD_REQUEST
        return HTTPStatus.ACCEPTED if body is not None else HTTPStatus.REQUEST_ENTITY_TOO_LARGE


_ENDINGS: Final = frozenset({"response", "error"})


def _value_of(name: str, headers: str) -> str | None:
    _, name_and_colon, rest = headers.partition(f"\r\n{name}:")
    return rest[: rest.index("\r\n")].strip() if name_and_colon else None


_REPLIES: Final = {
    status: (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()
    for status, body in {
        HTTPStatus.ACCEPTED: '{"status":"OK"}',
        HTTPStatus.BAD_REQUEST: '{"errorType":"InvalidRequestID","errorMessage":"No such call."}',
        HTTPStatus.NOT_FOUND: '{"errorType":"NotFound","errorMessage":"No such route."}',
        HTTPStatus.LENGTH_REQUIRED: '{"errorType":"LengthRequired","errorMessage":"No length."}',
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (
            '{"errorType":"Function.ResponseSizeTooLarge","errorMessage":"Exceeded the limit."}'
        ),
    }.items()
}


class _Connection(asyncio.Protocol):
    def __init__(self, api: RuntimeApi) -> None:
        self.lost = asyncio.Event()
        self._api = api
        self._head = bytearray()
        self._body = bytearray()
        self._request: tuple[str, str] | None = None
        self._length = 0
        self._missing = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - always set for a TCP server
        self._transport = transport
        self._hang_up = select.poll()
        self._hang_up.register(transport.get_extra_info("socket"), select.POLLIN)
        self._api.connected(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._api.lost(self, exc)
        self.lost.set()

    def has_hung_up(self) -> bool:
        # A process that waits for its event sends nothing, so readable means closed.
        return self._transport.is_closing() or bool(self._hang_up.poll(0))

    def write(self, reply: bytes) -> None:
        self._transport.write(reply)

    def abort(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        while data:
            data = self._read_head(data) if self._request is None else self._read_body(data)

    def _read_head(self, data: bytes) -> bytes:
        self._head += data
        end = self._head.find(b"\r\n\r\n")
        if end < 0:
            if len(self._head) > _HEAD_LIMIT:
                self.abort()
            return b""
        head, rest = self._head[:end].decode("latin-1"), bytes(self._head[end + 4 :])
        self._head.clear()
        self._begin(head)
        return rest

    def _begin(self, head: str) -> None:
        first, _, rest = head.partition("\r\n")
        method, path, _ = (*first.split(" ", 2), "", "")[:3]
        headers = f"\r\n{rest.lower()}\r\n"
        length = _value_of("content-length", headers) or "0"
        if _value_of("transfer-encoding", headers) is not None or not length.isdecimal():
            self.write(_REPLIES[HTTPStatus.LENGTH_REQUIRED])
            self._transport.close()
            return
        self._request, self._length = (method, path), int(length)
        self._missing = self._length
        if _value_of("expect", headers):  # curl sends it empty to suppress the default
            self.write(_CONTINUE)
        self._answer_if_complete()

    def _read_body(self, data: bytes) -> bytes:
        here = data[: self._missing]
        self._missing -= len(here)
        if self._length <= RESPONSE_LIMIT:  # a longer one is read to its end but not kept
            self._body += here
        self._answer_if_complete()
        return data[len(here) :]

    def _answer_if_complete(self) -> None:
        if self._missing or self._request is None:
            return
        body = bytes(self._body) if self._length <= RESPONSE_LIMIT else None
        (method, path), self._request = self._request, None
        self._body.clear()
        self._api.answer(self, method, path, body)
