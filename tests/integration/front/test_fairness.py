"""One client cannot slow the others down much."""

import asyncio
import os
import resource
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from statistics import median

import pytest

from taskmill_local.front.guard import local_only
from tests.integration.front.client import GET, Client, a_front, connected, run
from tests.waiting import eventually_async

CHUNKED = b"POST /tasks HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
TINY = b"1\r\nx\r\n" * 19_000


def test_bodies_in_chunks_of_one_byte_hold_up_nobody():
    async def check() -> None:
        async with a_front() as port, AsyncExitStack() as clients:
            slow = [await clients.enter_async_context(connected(port)) for _ in range(8)]
            quick = await clients.enter_async_context(connected(port))
            for client in slow:
                client.writer.write(CHUNKED + TINY)
            spans = [await _span(quick) for _ in range(20)]
            assert max(spans) < sum(spans) / 2, "one request waited for several bodies"
            for client in slow:
                await client.send(b"0\r\n\r\n")
                assert (await client.receive()).status == 200

    run(check)


async def _span(client: Client) -> float:
    began = time.monotonic()
    assert (await client.ask(GET)).status == 200
    return time.monotonic() - began


def test_a_body_of_too_many_chunks_is_refused_with_a_status():
    async def check() -> None:
        async with a_front() as port, connected(port) as client:
            await client.send(CHUNKED + TINY + TINY)
            assert (await client.receive()).status == 413
            assert await client.is_closed()

    run(check)


def test_a_guarded_front_refuses_a_stranger_and_serves_the_next_request():
    async def check() -> None:
        async with a_front(guard=local_only) as port, connected(port) as client:
            assert (await client.ask(GET)).status == 403
            assert (await client.ask(GET.replace(b"here", b"localhost"))).status == 200

    run(check)


@pytest.fixture
def few_files():
    """Limit the open files to a few more than now; restore the limit at the end."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_highest() + 40, limits[1]))
    taken: list[int] = []
    yield taken
    for number in taken:
        os.close(number)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def _highest() -> int:
    return max(int(path.name) for path in Path("/proc/self/fd").iterdir())


def _take_all(taken: list[int]) -> None:
    with suppress(OSError):
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))


def test_without_a_descriptor_the_front_waits_and_does_not_spin(few_files):
    async def check() -> None:
        failures: list[object] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, answer: failures.append(answer))
        async with a_front() as port:
            reader, writer = await _line_that_finds_no_descriptor(port, few_files)
            await eventually_async(
                lambda: bool(failures), within=5, reason="the front finds none left"
            )
            for _ in range(100):
                await asyncio.sleep(0)
            assert len(failures) == 1
            while few_files:
                os.close(few_files.pop())
            assert (await Client(reader, writer).ask(GET)).status == 200
            writer.transport.abort()

    run(check)


async def _line_that_finds_no_descriptor(
    port: int, taken: list[int]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect with the last descriptor, so that the front has none for its end."""
    _take_all(taken)
    os.close(taken.pop())
    return await asyncio.open_connection("127.0.0.1", port)


def test_the_median_answer_is_quick_while_many_connect():
    async def check() -> None:
        async with a_front() as port, AsyncExitStack() as clients:
            first = await clients.enter_async_context(connected(port))
            alone = median([await _span(first) for _ in range(50)])
            spans = []
            for _ in range(200):
                client = await clients.enter_async_context(connected(port))
                spans.append(await _span(client))
            assert median(spans) < 20 * alone

    run(check)
