"""One client's connection: reads requests, passes them on one at a time, writes responses."""

import asyncio
import socket
import struct
from collections.abc import Callable
from enum import Enum, auto
from http import HTTPStatus
from typing import Protocol, TypeAlias, cast

from taskmill_local.front.body import Body, body_of
from taskmill_local.front.deadline import Deadline
from taskmill_local.front.head import Head, Refused, parse_head
from taskmill_local.front.limits import Limits
from taskmill_local.front.reply import Reply, encode, own_reply
from taskmill_local.front.request import Request, new_request_id

_NEW_LINE = b"\r\n"
_END_OF_HEAD = b"\r\n\r\n"
_WITHOUT_LINGER = struct.pack("ii", 1, 0)
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

Respond: TypeAlias = Callable[[Reply], None]


class Reception(Protocol):
    """The front as a connection sees it."""

    limits: Limits
    is_stopping: bool

    def admit(self, connection: "Connection") -> bool: ...

    def forget(self, connection: "Connection") -> None: ...

    def serve(self, request: Request, respond: Respond) -> None: ...


class _Phase(Enum):
    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    SERVING = auto()
    LEAVING = auto()  # discard what the client still sends


class Connection(asyncio.Protocol):
    def __init__(self, reception: Reception) -> None:
        self._reception = reception
        self._limits = reception.limits
        self._loop = asyncio.get_running_loop()
        self._deadline = Deadline(self._expire)
        self._transport: asyncio.Transport
        self._phase = _Phase.HEAD
        self._arrived = bytearray()
        self._head: Head
        self._body: Body
        self._body_until = 0.0
        self._request: Request
        self._is_advancing = False
        self._is_unread = False
        self._has_ended = False

    def finish(self) -> None:
        """Close as soon as no response is pending."""
        is_between = not self._arrived and self._phase in {_Phase.IDLE, _Phase.HEAD}
        if is_between or self._phase is _Phase.LEAVING:
            self._transport.close()

    def abort(self) -> None:
        """Reset the connection: otherwise the system keeps offering data that nobody reads."""
        connection = self._transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _WITHOUT_LINGER)
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        # With this limit, `pause_writing` means that the client does not read.
        self._transport.set_write_buffer_limits(0)
        if self._reception.admit(self):
            self._deadline.grant(self._limits.head_time)
        else:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)

    def data_received(self, data: bytes) -> None:
        if self._phase is _Phase.LEAVING:
            return
        self._arrived += data
        if self._phase is not _Phase.SERVING and not self._is_unread:
            self._advance()
        elif len(self._arrived) > self._limits.read_ahead_bytes:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        self._has_ended = True
        return self._phase is _Phase.SERVING or self._is_unread

    def pause_writing(self) -> None:
        self._is_unread = True
        self._deadline.grant(self._limits.write_time)

    def resume_writing(self) -> None:
        self._is_unread = False
        is_leaving = self._phase is _Phase.LEAVING
        self._deadline.grant(self._limits.linger_time if is_leaving else self._limits.idle_time)
        self._transport.resume_reading()
        self._advance()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the base class's signature
        self._phase = _Phase.LEAVING
        self._deadline.close()
        self._reception.forget(self)

    def _advance(self) -> None:
        # A response that is ready at once re-enters here from within the loop.
        if self._is_advancing:
            return
        self._is_advancing = True
        try:
            while self._step():
                pass
        except Refused as refused:
            self._refuse(refused.status)
        finally:
            self._is_advancing = False
        if self._has_ended and self._phase is not _Phase.SERVING and not self._is_unread:
            self._transport.close()

    def _step(self) -> bool:
        if self._is_unread:
            return False
        match self._phase:
            case _Phase.IDLE | _Phase.HEAD:
                return self._read_head()
            case _Phase.BODY:
                return self._read_body()
            case _Phase.SERVING | _Phase.LEAVING:
                return False

    def _read_head(self) -> bool:
        while self._arrived.startswith(_NEW_LINE):
            del self._arrived[: len(_NEW_LINE)]
        end = self._arrived.find(_END_OF_HEAD)
        if end < 0:
            self._await_head()
            return False
        if end + len(_END_OF_HEAD) > self._limits.head_bytes:
            raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        raw = bytes(self._arrived[:end])
        del self._arrived[: end + len(_END_OF_HEAD)]
        self._head = parse_head(raw)
        self._body = body_of(self._head, self._limits)
        self._phase = _Phase.BODY
        self._body_until = self._loop.time() + self._limits.body_time.total_seconds()
        if self._head.expects_continue and not self._arrived:
            self._transport.write(_CONTINUE)
        return True

    def _await_head(self) -> None:
        if len(self._arrived) >= self._limits.head_bytes:
            raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        # With lone line feeds the end would never be found, and the client would wait forever.
        if b"\n\n" in self._arrived or b"\n\r\n" in self._arrived:
            raise Refused(HTTPStatus.BAD_REQUEST)
        if self._arrived and self._phase is _Phase.IDLE:
            self._phase = _Phase.HEAD
            self._deadline.grant(self._limits.head_time)

    def _read_body(self) -> bool:
        body = self._body.take(self._arrived)
        if body is None:
            self._deadline.grant(self._limits.read_time, until=self._body_until)
            if self._body.is_interrupted:
                self._transport.pause_reading()
                self._loop.call_soon(self._go_on)
            return False
        self._phase = _Phase.SERVING
        self._deadline.lift()
        address = self._transport.get_extra_info("peername")
        self._request = Request(head=self._head, body=body, source_ip=address[0])
        self._reception.serve(self._request, self._respond)
        return True

    def _go_on(self) -> None:
        """Resume a body after other connections had their turn."""
        if self._phase is _Phase.BODY and not self._is_unread:
            self._transport.resume_reading()
            self._advance()

    def _respond(self, reply: Reply) -> None:
        if self._phase is not _Phase.SERVING:
            return
        closes = self._reception.is_stopping or not self._head.keeps_alive
        self._phase = _Phase.LEAVING if closes else _Phase.IDLE
        self._deadline.grant(self._limits.idle_time)
        self._transport.write(
            encode(reply, head=self._head, request_id=self._request.id, closes=closes)
        )
        if closes:
            self._leave()
        else:
            self._transport.resume_reading()
            self._advance()

    def _refuse(self, status: HTTPStatus) -> None:
        self._transport.write(
            encode(own_reply(status), head=None, request_id=new_request_id(), closes=True)
        )
        self._leave()

    def _leave(self) -> None:
        """Half-close and read on for a moment: closing at once could destroy the response."""
        self._phase = _Phase.LEAVING
        self._arrived.clear()
        if self._reception.is_stopping or self._has_ended:
            self._transport.close()
            return
        self._transport.resume_reading()
        self._transport.write_eof()
        if not self._is_unread:
            self._deadline.grant(self._limits.linger_time)

    def _expire(self) -> None:
        if self._is_unread:
            self.abort()
        elif self._phase is _Phase.LEAVING:
            self._transport.abort()
        elif self._arrived or self._phase is _Phase.BODY:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self._transport.close()
