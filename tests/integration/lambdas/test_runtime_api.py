"""The Runtime API's HTTP, with requests split in any way."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from taskmill_local.lambdas.answer import RESPONSE_LIMIT
from taskmill_local.lambdas.invocation import Invocation
from taskmill_local.lambdas.runtime_api import RuntimeApi
from tests.waiting import eventually_async

NEXT = b"GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: h\r\n\r\n"
WITHIN = 20.0


@dataclass(slots=True)
class Recorded:
    """Records the calls of the process."""

    told: list = field(default_factory=list)
    poll: asyncio.Event = field(default_factory=asyncio.Event)

    def polled(self):
        self.poll.set()

    def poll_lost(self):
        self.told.append("lost")

    def responded(self, request_id, body):
        self.told.append(("responded", request_id, body))
        return request_id == "r1"

    def failed(self, request_id, body):
        self.told.append(("failed", request_id, body))
        return request_id == "r1"

    def init_failed(self, body):
        self.told.append(("init_failed", body))


@asynccontextmanager
async def an_api():
    calls = Recorded()
    api = RuntimeApi(calls)
    host, port = (await api.open()).split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        async with asyncio.timeout(WITHIN):
            yield api, calls, reader, writer
    finally:
        writer.close()
        api.close()


def post(path, body, *headers):
    lines = [f"POST /2018-06-01/runtime/{path} HTTP/1.1", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def reply(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    status, *lines = head.strip().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return int(status.split()[1]), headers, await reader.readexactly(int(headers["Content-Length"]))


def test_an_event_comes_with_all_that_a_client_needs():
    async def run():
        async with an_api() as (api, calls, reader, writer):
            writer.write(NEXT)
            await calls.poll.wait()
            invocation = Invocation(
                request_id="8bd5e2d4-0000-4000-8000-000000000001",
                event=b'{"a":1}',
                answer=asyncio.get_running_loop().create_future(),
            )
            api.deliver(invocation.as_http(deadline_ms=123, function_arn="arn:f"))
            return await reply(reader)

    status, headers, body = asyncio.run(run())
    assert (status, body) == (200, b'{"a":1}')
    assert headers["Content-Type"] == "application/json"
    assert headers["Lambda-Runtime-Aws-Request-Id"] == "8bd5e2d4-0000-4000-8000-000000000001"
    assert headers["Lambda-Runtime-Invocation-Id"] == headers["Lambda-Runtime-Aws-Request-Id"]
    assert headers["Lambda-Runtime-Deadline-Ms"] == "123"
    assert headers["Lambda-Runtime-Invoked-Function-Arn"] == "arn:f"
    assert headers["Lambda-Runtime-Trace-Id"].startswith("Root=1-")


@pytest.mark.parametrize(
    ("request_", "status", "told"),
    [
        (post("invocation/r1/response", b"{}"), 202, [("responded", "r1", b"{}")]),
        (post("invocation/r1/error", b"{}"), 202, [("failed", "r1", b"{}")]),
        (post("init/error", b"{}"), 202, [("init_failed", b"{}")]),
        (post("invocation/r1/response", b""), 202, [("responded", "r1", b"")]),
        (post("invocation/r2/response", b"{}"), 400, [("responded", "r2", b"{}")]),
        (post("invocation/r1/praise", b"{}"), 404, []),
        (post("elsewhere", b"{}"), 404, []),
        (b"GET / HTTP/1.1\r\n\r\n", 404, []),
        (b"nonsense\r\n\r\n", 404, []),
        (post("init/error", b"", "Transfer-Encoding: chunked"), 411, []),
        (b"POST /2018-06-01/runtime/init/error HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 411, []),
    ],
)
def test_each_call_has_its_answer(request_, status, told):
    async def run():
        async with an_api() as (_, calls, reader, writer):
            writer.write(request_)
            return (await reply(reader))[0], calls.told

    assert asyncio.run(run()) == (status, told)


def test_requests_may_come_in_any_pieces():
    async def run():
        async with an_api() as (_, calls, reader, writer):
            requests = post("invocation/r1/response", b"abc") + post("invocation/r1/error", b"d")
            for at in range(len(requests)):
                writer.write(requests[at : at + 1])
                await asyncio.sleep(0)
            assert [(await reply(reader))[0] for _ in range(2)] == [202, 202]
            return calls.told

    assert asyncio.run(run()) == [("responded", "r1", b"abc"), ("failed", "r1", b"d")]


def test_a_response_over_the_limit_is_read_to_its_end_and_refused():
    async def run():
        async with an_api() as (_, calls, reader, writer):
            writer.write(post("invocation/r1/response", b"x" * (RESPONSE_LIMIT + 1)))
            assert (await reply(reader))[0] == 413
            writer.write(post("invocation/r1/response", b"x" * RESPONSE_LIMIT))
            assert (await reply(reader))[0] == 202
            return calls.told

    first, second = asyncio.run(run())
    assert first == ("responded", "r1", None)
    assert len(second[2]) == RESPONSE_LIMIT


def test_a_client_that_waits_for_leave_to_send_its_body_is_given_it():
    async def run():
        async with an_api() as (_, calls, reader, writer):
            head = post("init/error", b"{}", "Expect: 100-continue")[:-2]
            writer.write(head)
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
            writer.write(b"{}")
            assert (await reply(reader))[0] == 202
            return calls.told

    assert asyncio.run(run()) == [("init_failed", b"{}")]


def test_a_head_without_an_end_is_hung_up_on():
    async def run():
        async with an_api() as (_, _, reader, writer):
            writer.write(b"GET " + b"x" * 200_000)
            # Whether it is reset depends on what was still unread when it was closed.
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)

    asyncio.run(run())


def test_a_client_that_hangs_up_while_it_waits_is_noticed():
    async def run():
        async with an_api() as (api, calls, _, writer):
            writer.write(NEXT)
            await calls.poll.wait()
            assert api.is_polled()
            writer.close()
            await writer.wait_closed()
            await eventually_async(
                lambda: not api.is_polled(), within=WITHIN, reason="it is seen to have hung up"
            )

    asyncio.run(run())
