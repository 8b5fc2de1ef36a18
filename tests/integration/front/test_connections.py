"""A connection serves several requests and closes cleanly."""

import asyncio
import json
import socket
from datetime import timedelta

import pytest

from taskmill_local.errors import PlatformError
from taskmill_local.front.server import Front
from taskmill_local.lambdas.answer import Responded
from tests.integration.front.client import (
    GET,
    PATIENCE,
    ROUTES,
    Function,
    StuckFunction,
    a_front,
    connected,
    post,
    run,
)
from tests.waiting import eventually_async

GRACE = timedelta(seconds=PATIENCE)


async def path_parameter(name: str, event: bytes) -> Responded:
    """Answer with the id; small ids take longer, so that order is not luck."""
    number = int(json.loads(event)["pathParameters"]["id"])
    await asyncio.sleep(0.02 / number)
    return Responded(json.dumps(number).encode())


def test_a_connection_serves_many_requests():
    async def check() -> None:
        async with a_front() as port, connected(port) as client:
            for _ in range(50):
                received = await client.ask(post(b"x" * 1_000))
                assert (received.status, received.all("connection")) == (200, [])

    run(check)


def test_pipelined_requests_are_answered_in_order():
    async def check() -> None:
        async with a_front(path_parameter) as port, connected(port) as client:
            numbers = range(1, 31)
            await client.send(b"".join(GET.replace(b"7", b"%d" % n) for n in numbers))
            assert [int((await client.receive()).body) for _ in numbers] == list(numbers)

    run(check)


def test_far_more_may_be_pipelined_than_is_read_ahead():
    async def check() -> None:
        function = Function(Responded(b"1"))
        async with a_front(function) as port, connected(port) as client:
            sending = asyncio.create_task(client.send(post(b"x" * 50_000) * 100))
            assert {(await client.receive()).status for _ in range(100)} == {200}
            await sending
        assert len(function.events) == 100

    run(check)


def test_unroutable_requests_in_a_row_are_answered_one_by_one():
    async def check() -> None:
        async with a_front() as port, connected(port) as client:
            await client.send(GET.replace(b"/tasks/7", b"/x") * 2_000)
            assert {(await client.receive()).status for _ in range(2_000)} == {404}

    run(check)


def test_a_client_that_waits_for_continue_is_told_to():
    async def check() -> None:
        function = Function()
        async with a_front(function) as port, connected(port) as client:
            body = b"hello"
            request = post(body, b"Expect: 100-continue", b"Content-Type: text/plain")
            assert (await client.ask(request.removesuffix(body))).status == 100
            assert function.events == []
            received = await client.ask(body)
        assert json.loads(received.body)["body"] == "hello"

    run(check)


@pytest.mark.parametrize(
    ("request_bytes", "connection"),
    [
        (b"GET /tasks/7 HTTP/1.0\r\n\r\n", ["close"]),
        (GET.replace(b"\r\n\r\n", b"\r\nConnection: Close\r\n\r\n"), ["close"]),
        (b"GET /tasks/7 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", ["keep-alive"]),
    ],
)
def test_a_connection_closes_when_the_client_says_so(request_bytes, connection):
    async def check() -> None:
        async with a_front() as port, connected(port) as client:
            received = await client.ask(request_bytes)
            assert received.all("connection") == connection
            if connection == ["close"]:
                assert await client.is_closed()
            else:
                assert (await client.ask(request_bytes)).status == 200

    run(check)


def test_a_client_that_has_said_everything_still_gets_its_answer():
    async def check() -> None:
        async with a_front() as port, connected(port) as client:
            client.writer.write(GET)
            client.writer.write_eof()
            assert (await client.receive()).status == 200
            assert await client.is_closed()

    run(check)


def test_an_invocation_outlives_the_client_that_asked_for_it():
    async def check() -> None:
        stuck = StuckFunction()
        async with a_front(stuck) as port:
            async with connected(port) as client:
                await client.send(GET)
                await eventually_async(lambda: stuck.entered, within=PATIENCE, reason="called")
            stuck.release.set()
            await eventually_async(lambda: stuck.left, within=PATIENCE, reason="it goes on")

    run(check)


def test_a_stop_lets_requests_end_and_closes_idle_connections():
    async def check() -> None:
        stuck = StuckFunction()
        front = Front(ROUTES, stuck)
        port = await front.start(0)
        async with connected(port) as idle, connected(port) as busy:
            await busy.send(GET)
            await eventually_async(lambda: stuck.entered, within=PATIENCE, reason="called")
            stopping = asyncio.create_task(front.stop(GRACE))
            assert await idle.is_closed()
            stuck.release.set()
            received = await busy.receive()
            assert (received.status, received.all("connection")) == (200, ["close"])
            await stopping
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", port)

    run(check)


def test_a_stop_ends_what_is_stuck_when_the_grace_is_over():
    async def check() -> None:
        stuck = StuckFunction()
        front = Front(ROUTES, stuck)
        port = await front.start(0)
        async with connected(port) as client:
            await client.send(GET)
            await eventually_async(lambda: stuck.entered, within=PATIENCE, reason="called")
            await front.stop(timedelta(0))
            assert await client.is_closed()
        assert (stuck.entered, stuck.left) == (1, 0)

    run(check)


def test_a_port_that_is_taken_is_named():
    async def check() -> None:
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            with pytest.raises(PlatformError) as refused:
                await Front(ROUTES, Function()).start(port)
        assert str(refused.value) == (
            f"port {port} is already taken by another program; set TASKMILL_PORT to a free one"
        )

    run(check)
