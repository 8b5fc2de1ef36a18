"""The HTTP front on one machine: converts requests to events, and results to responses."""

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from http import HTTPStatus
from types import MappingProxyType
from typing import TypeAlias

from taskmill_local.errors import PlatformError
from taskmill_local.front.connection import Connection, Respond
from taskmill_local.front.event import event_of
from taskmill_local.front.guard import Guard, nobody_refused
from taskmill_local.front.limits import PLATFORM_LIMITS, Limits
from taskmill_local.front.reply import Reply, own_reply, reply_of
from taskmill_local.front.request import Request
from taskmill_local.front.routing import Router
from taskmill_local.lambdas.answer import Answer
from taskmill_local.plan import RoutePlan

Invoke: TypeAlias = Callable[[str, bytes], Awaitable[Answer]]
LocalPage: TypeAlias = Callable[[], Awaitable[tuple[int, str, bytes]]]

_ADDRESS = "127.0.0.1"
_BACKLOG = 1_024
_ACCEPTED_AT_ONCE = 1
_NO_PAGES: Mapping[str, LocalPage] = MappingProxyType({})
_log = logging.getLogger(__name__)


class Front:
    def __init__(
        self,
        routes: Sequence[RoutePlan],
        invoke: Invoke,
        *,
        extra: Mapping[str, LocalPage] = _NO_PAGES,
        limits: Limits = PLATFORM_LIMITS,
        guard: Guard = nobody_refused,
    ) -> None:
        self.limits = limits
        self._guard = guard
        self.is_stopping = False
        self._router = Router(routes)
        self._invoke = invoke
        self._pages = extra
        self._server: asyncio.Server | None = None
        self._port = 0
        self._connections = set[Connection]()
        self._works = set[asyncio.Task[Reply]]()
        self._is_empty = asyncio.Event()

    async def start(self, port: int) -> int:
        """Listen on ``port``, or on any free port for 0; return the actual port."""
        loop = asyncio.get_running_loop()
        try:
            listener = _listener(port)
        except OSError as error:
            raise PlatformError(_port_complaint(port, error)) from error
        # asyncio accepts up to the backlog at once, and when descriptors run out it fails and
        # reschedules as often: accept one at a time and leave the rest in the system's queue.
        self._server = await loop.create_server(
            lambda: Connection(self), sock=listener, backlog=_ACCEPTED_AT_ONCE
        )
        listener.listen(_BACKLOG)
        self._port = int(listener.getsockname()[1])
        return self._port

    async def stop(self, grace: timedelta) -> None:
        """Accept no more requests; those in flight get ``grace`` to finish."""
        self.is_stopping = True
        if self._server is None:
            return
        self._server.close()
        for connection in tuple(self._connections):
            connection.finish()
        await self._wait_until_idle(grace)
        for connection in tuple(self._connections):
            connection.abort()
        works = tuple(self._works)
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
        await self._server.wait_closed()

    def admit(self, connection: Connection) -> bool:
        self._connections.add(connection)
        return len(self._connections) <= self.limits.connections

    def forget(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._is_empty.set()

    def serve(self, request: Request, respond: Respond) -> None:
        if (refusal := self._guard(request)) is not None:
            respond(refusal)
            return
        page = self._pages.get(request.head.path)
        if page is not None and request.head.method == "GET":
            self._answer(_show(page), respond)
            return
        match = self._router.match(request.head.method, request.head.path)
        if match is None:
            respond(own_reply(HTTPStatus.NOT_FOUND))
            return
        event = event_of(request, match, port=self._port)
        if len(event) > self.limits.event_bytes:
            respond(own_reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE))
            return
        self._answer(self._call(match.route.function, event), respond)

    def _answer(self, reply: Coroutine[None, None, Reply], respond: Respond) -> None:
        """Respond once: with the reply, or with an error when it takes too long."""
        loop = asyncio.get_running_loop()
        work = loop.create_task(reply)
        self._works.add(work)

        def settle(task: asyncio.Task[Reply]) -> None:
            too_late.cancel()
            is_whole = not task.cancelled() and task.exception() is None
            respond(task.result() if is_whole else own_reply(HTTPStatus.INTERNAL_SERVER_ERROR))

        def give_up() -> None:
            # The function goes on, as on the platform; only its response is discarded.
            work.remove_done_callback(settle)
            respond(own_reply(HTTPStatus.SERVICE_UNAVAILABLE))

        too_late = loop.call_later(self.limits.answer_time.total_seconds(), give_up)
        work.add_done_callback(settle)
        work.add_done_callback(self._put_away)

    def _put_away(self, work: asyncio.Task[Reply]) -> None:
        self._works.discard(work)
        if not work.cancelled() and (error := work.exception()):
            _log.error("request failed inside the local platform", exc_info=error)

    async def _call(self, function: str, event: bytes) -> Reply:
        return reply_of(await self._invoke(function, event))

    async def _wait_until_idle(self, grace: timedelta) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(grace.total_seconds()):
                while self._connections:
                    self._is_empty.clear()
                    await self._is_empty.wait()
                if self._works:
                    await asyncio.wait(self._works)


async def _show(page: LocalPage) -> Reply:
    status, content_type, body = await page()
    return Reply(status, body, (("content-type", content_type),))


def _listener(port: int) -> socket.socket:
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_ADDRESS, port))
    except BaseException:
        listener.close()
        raise
    return listener


def _port_complaint(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is already taken by another program; set TASKMILL_PORT to a free one"
    reason = os.strerror(error.errno or 0).lower()
    return f"cannot listen on port {port} ({reason}); set TASKMILL_PORT to another one"
