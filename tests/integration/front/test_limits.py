"""Exceeding a limit of the front affects only that client."""

import asyncio
import json
import socket
import time
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest

from taskmill_local.front.limits import Limits
from taskmill_local.lambdas.answer import Responded
from tests.integration.front.client import (
    GET,
    PATIENCE,
    Client,
    Function,
    StuckFunction,
    a_front,
    connected,
    post,
    run,
)
from tests.waiting import eventually_async

SOON = timedelta(milliseconds=150)
LONG = timedelta(seconds=3 * PATIENCE)
HEAD = b"POST /tasks HTTP/1.1\r\nHost: here\r\n"


@pytest.mark.parametrize(
    ("request_bytes", "limits"),
    [
        (HEAD + b"Content-Length: 10485761\r\n\r\n", Limits()),
        (
            HEAD + b"Content-Length: 10485761\r\nExpect: 100-continue\r\n\r\n",
            Limits(),
        ),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nA00001\r\n", Limits()),
        (
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n6\r\n123456\r\n6\r\n",
            Limits(body_bytes=10),
        ),
    ],
)
def test_a_body_over_10_mb_is_refused_before_it_is_read(request_bytes, limits):
    async def check() -> None:
        async with a_front(limits=limits) as port, connected(port) as client:
            received = await client.ask(request_bytes)
            assert received.status == 413
            assert received.body == b'{"message": "Request Entity Too Large"}'
            assert await client.is_closed()

    run(check)


def test_the_refusal_reaches_a_client_that_is_still_sending():
    async def check() -> None:
        async with a_front() as port, connected(port) as client:
            await client.send(HEAD + b"Content-Length: 20000000\r\n\r\n")
            await client.send(b"x" * 5_000_000)
            assert (await client.receive()).status == 413

    run(check)


def test_a_body_that_makes_an_event_over_6_mb_is_refused():
    async def check() -> None:
        function = Function(Responded(b"{}"))
        async with a_front(function) as port, connected(port) as client:
            text = b"Content-Type: text/plain"
            assert (await client.ask(post(b"x" * 6_000_000, text))).status == 200
            # The same bytes as base64 are a third more.
            assert (await client.ask(post(b"x" * 6_000_000))).status == 413
            assert (await client.ask(GET)).status == 200
        assert len(function.events) == 2

    run(check)


@pytest.mark.parametrize(("spare", "status"), [(0, 200), (1, 431)])
def test_a_head_may_have_10_240_bytes(spare, status):
    async def check() -> None:
        head = GET[:-2] + b"X: "
        padding = b"x" * (10_240 - len(head) - 4 + spare)
        async with a_front() as port, connected(port) as client:
            assert (await client.ask(head + padding + b"\r\n\r\n")).status == status

    run(check)


@pytest.mark.parametrize(
    "endless",
    [
        GET[:-2] + b"X: " + b"x" * 20_000,
        b"G" * 20_000,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 4_000,
    ],
    ids=["header", "method", "trailers"],
)
def test_a_head_without_end_is_refused(endless):
    async def check() -> None:
        async with a_front() as port, connected(port) as client:
            assert (await client.ask(endless)).status in {400, 431}
            assert await client.is_closed()

    run(check)


@pytest.mark.parametrize(
    ("sent", "limits"),
    [
        (GET[:20], Limits(head_time=SOON)),
        (HEAD + b"Content-Length: 10\r\n\r\n12345", Limits(read_time=SOON)),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhe", Limits(read_time=SOON)),
        (HEAD + b"Content-Length: 10\r\n\r\n12345", Limits(body_time=SOON)),
    ],
)
def test_a_client_that_stops_in_the_middle_is_told_so(sent, limits):
    async def check() -> None:
        async with a_front(limits=limits) as port, connected(port) as client:
            assert (await client.ask(sent)).status == 408
            assert await client.is_closed()

    run(check)


def test_a_trickle_does_not_extend_the_time_for_a_head():
    async def check() -> None:
        limits = Limits(head_time=SOON)
        async with a_front(limits=limits) as port, connected(port) as client:
            await trickle(client, b"GET / HTTP/1.1\r\nX: " + b"x" * 5_000)

    run(check)


def test_a_trickle_does_not_extend_the_time_for_a_body():
    async def check() -> None:
        limits = Limits(body_time=SOON)
        async with a_front(limits=limits) as port, connected(port) as client:
            await trickle(client, HEAD + b"Content-Length: 5000\r\n\r\n" + b"x" * 4_999)

    run(check)


async def trickle(client: Client, data: bytes) -> None:
    """Send a byte at a time until the front closes."""
    answer = asyncio.create_task(client.receive())
    for place in range(len(data)):
        if answer.done():
            break
        await client.send(data[place : place + 1])
        await asyncio.wait({answer}, timeout=0.01)
    assert (await answer).status == 408


@pytest.mark.parametrize("requests_before", [0, 1])
def test_an_idle_connection_is_closed_without_a_word(requests_before):
    async def check() -> None:
        limits = Limits(head_time=SOON, idle_time=SOON)
        async with a_front(limits=limits) as port, connected(port) as client:
            for _ in range(requests_before):
                await client.ask(GET)
            assert await client.is_closed()

    run(check)


def test_a_function_over_the_integrations_time_is_unavailable_and_its_late_answer_lost():
    async def check() -> None:
        stuck = StuckFunction()
        limits = Limits(answer_time=SOON)
        async with a_front(stuck, limits=limits) as port, connected(port) as client:
            received = await client.ask(GET)
            assert (received.status, received.body) == (503, b'{"message": "Service Unavailable"}')
            stuck.release.set()
            await eventually_async(lambda: stuck.left, within=PATIENCE, reason="it goes on")
            assert (await client.ask(GET)).body == b"released"
            assert stuck.left == 2

    run(check)


def test_a_late_answer_is_never_given_to_the_next_request():
    async def check() -> None:
        first = asyncio.Event()
        second = asyncio.Event()

        async def function(name: str, event: bytes) -> Responded:
            task = json.loads(event)["pathParameters"]["id"]
            await {"1": first, "2": second}[task].wait()
            return Responded(json.dumps(task).encode())

        limits = Limits(answer_time=timedelta(seconds=2))
        async with a_front(function, limits=limits) as port, connected(port) as client:
            assert (await client.ask(GET.replace(b"7", b"1"))).status == 503
            await client.send(GET.replace(b"7", b"2"))
            first.set()
            second.set()
            assert (await client.receive()).body == b"2"

    run(check)


def test_a_connection_over_the_cap_is_turned_away():
    async def check() -> None:
        async with AsyncExitStack() as stack:
            port = await stack.enter_async_context(a_front(limits=Limits(connections=2)))
            kept = [await stack.enter_async_context(connected(port)) for _ in range(2)]
            assert [(await client.ask(GET)).status for client in kept] == [200, 200]
            surplus = await stack.enter_async_context(connected(port))
            assert (await surplus.receive()).status == 503
            assert await surplus.is_closed()
            assert (await kept[0].ask(GET)).status == 200

    run(check)


def test_a_client_that_does_not_read_its_answer_is_dropped():
    async def check() -> None:
        large = Function(Responded(json.dumps("x" * 6_000_000).encode()))
        async with a_front(large, limits=Limits(write_time=SOON)) as port:
            with socket.socket() as client:
                # A small window, so that the answer cannot hide in the system's buffers.
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
                client.setblocking(False)  # noqa: FBT003 - the socket's own signature
                loop = asyncio.get_running_loop()
                await loop.sock_connect(client, ("127.0.0.1", port))
                await loop.sock_sendall(client, GET)
                await eventually_async(lambda: large.events, within=PATIENCE, reason="served")
                await eventually_async(
                    lambda: is_reset(client), within=PATIENCE, reason="the client is dropped"
                )

    run(check)


def is_reset(client: socket.socket) -> bool:
    return client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


def test_fifty_slow_clients_do_not_slow_a_good_one():
    async def check() -> None:
        async with AsyncExitStack() as stack:
            patient = Limits(head_time=LONG, read_time=LONG, body_time=LONG)
            port = await stack.enter_async_context(a_front(limits=patient))
            slow = [await stack.enter_async_context(connected(port)) for _ in range(50)]
            for client in slow[:25]:
                await client.send(GET[:-3])
            for client in slow[25:]:
                await client.send(HEAD + b"Content-Length: 9000000\r\n\r\n" + b"x" * 100_000)
            good = await stack.enter_async_context(connected(port))
            before = time.monotonic()
            for _ in range(100):
                assert (await good.ask(GET)).status == 200
            assert time.monotonic() - before < 5
            for client in slow[:25]:
                assert (await client.ask(GET[-3:])).status == 200

    run(check)
