"""A front with a test function, and a client that sends exactly the given bytes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from taskmill_local.front.limits import Limits
from taskmill_local.front.server import Front
from taskmill_local.lambdas.answer import Answer, Responded
from taskmill_local.plan import RoutePlan

PATIENCE = 20.0
ROUTES = (
    RoutePlan(method="POST", path="/tasks", function="Gateway"),
    RoutePlan(method="GET", path="/tasks/{id}", function="Gateway"),
    RoutePlan(method="GET", path="/files/{proxy+}", function="Files"),
)

GET = b"GET /tasks/7 HTTP/1.1\r\nHost: here\r\n\r\n"


def post(body: bytes, *headers: bytes) -> bytes:
    lines = [b"POST /tasks HTTP/1.1", b"Host: here", b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


@dataclass(slots=True)
class Function:
    """Records its events and returns a fixed response."""

    answer: Answer | None = None
    events: list[tuple[str, bytes]] = field(default_factory=list)

    async def __call__(self, name: str, event: bytes) -> Answer:
        self.events.append((name, event))
        return self.answer or Responded(event)


class StuckFunction:
    """Answers no event until it is released."""

    def __init__(self) -> None:
        self.entered = 0
        self.left = 0
        self.release = asyncio.Event()

    async def __call__(self, name: str, event: bytes) -> Answer:
        self.entered += 1
        await self.release.wait()
        self.left += 1
        return Responded(b'"released"')


@dataclass(frozen=True, slots=True)
class Received:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def receive(self, *, has_body: bool = True) -> Received:
        async with asyncio.timeout(PATIENCE):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            status_line, *lines = head.strip().split("\r\n")
            headers = [(name, value) for name, _, value in (x.partition(": ") for x in lines)]
            length = int(dict(headers).get("content-length", 0)) if has_body else 0
            body = await self.reader.readexactly(length)
        return Received(int(status_line.split(" ")[1]), headers, body)

    async def ask(self, data: bytes) -> Received:
        await self.send(data)
        return await self.receive()

    async def is_closed(self) -> bool:
        """Wait until the front has closed the connection, without a further byte."""
        async with asyncio.timeout(PATIENCE):
            try:
                return await self.reader.read(1) == b""
            except ConnectionError:
                return True


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


@asynccontextmanager
async def a_front(
    function: Callable[[str, bytes], Awaitable[Answer]] | None = None,
    *,
    limits: Limits | None = None,
    **settings: Any,
) -> AsyncIterator[int]:
    front = Front(ROUTES, function or Function(), limits=limits or Limits(), **settings)
    port = await front.start(0)
    try:
        yield port
    finally:
        await front.stop(timedelta(0))


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run an async test's body with a deadline over all of it."""

    async def guarded() -> None:
        async with asyncio.timeout(3 * PATIENCE):
            await test()

    asyncio.run(guarded())
