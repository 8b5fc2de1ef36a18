"""The response that a client receives for a function's result."""

import json

import pytest

from taskmill_local.lambdas.answer import Failed, Failure, Responded
from tests.integration.front.client import GET, Function, a_front, connected, run

JSON = "application/json"
TEXT = "text/plain;charset=UTF-8"
ERROR = b'{"message": "Internal Server Error"}'


@pytest.mark.parametrize(
    ("answer", "status", "content_type", "body"),
    [
        ({"id": "t1"}, 200, JSON, b'{"id": "t1"}'),
        ([1, 2], 200, JSON, b"[1, 2]"),
        ("hello", 200, JSON, b"hello"),
        (None, 200, JSON, b"null"),
        ({"statusCode": 202, "body": "{}"}, 202, TEXT, b"{}"),
        ({"statusCode": "201"}, 201, TEXT, b""),
        (
            {"statusCode": 200, "headers": {"Content-Type": "text/html"}, "body": "é"},
            200,
            "text/html",
            "é".encode(),
        ),
        ({"statusCode": 200, "body": "AP8=", "isBase64Encoded": True}, 200, TEXT, b"\x00\xff"),
        ({"statusCode": 200, "body": "no base64!", "isBase64Encoded": True}, 500, JSON, ERROR),
        ({"statusCode": 99}, 500, JSON, ERROR),
        ({"statusCode": 101}, 500, JSON, ERROR),
        ({"statusCode": None}, 500, JSON, ERROR),
        ({"statusCode": True}, 500, JSON, ERROR),
        ({"statusCode": 200, "body": {"a": 1}}, 500, JSON, ERROR),
        ({"statusCode": 200, "headers": {"x": "a\r\nset-cookie: b"}}, 500, JSON, ERROR),
        ({"statusCode": 200, "headers": {"x y": "a"}}, 500, JSON, ERROR),
        ({"statusCode": 200, "headers": ["x"]}, 500, JSON, ERROR),
        ({"statusCode": 200, "cookies": "a=1"}, 500, JSON, ERROR),
    ],
)
def test_an_answer_becomes_a_response(answer, status, content_type, body):
    async def check() -> None:
        function = Function(Responded(json.dumps(answer).encode()))
        async with a_front(function) as port, connected(port) as client:
            received = await client.ask(GET)
        assert (received.status, received.all("content-type"), received.body) == (
            status,
            [content_type],
            body,
        )

    run(check)


def test_headers_and_cookies_are_sent_and_framing_stays_the_fronts():
    async def check() -> None:
        answer = {
            "statusCode": 200,
            "headers": {"X-Number": 7, "Content-Length": "999", "Connection": "close"},
            "cookies": ["a=1; Secure", "b=2"],
            "body": "ok",
        }
        function = Function(Responded(json.dumps(answer).encode()))
        async with a_front(function) as port, connected(port) as client:
            received = await client.ask(GET)
            assert received.all("x-number") == ["7"]
            assert received.all("set-cookie") == ["a=1; Secure", "b=2"]
            assert received.all("content-length") == ["2"]
            assert received.all("connection") == []
            assert (await client.ask(GET)).status == 200

    run(check)


@pytest.mark.parametrize(
    ("failure", "status", "message"),
    [
        (Failure.HANDLER_ERROR, 500, "Internal Server Error"),
        (Failure.INIT_ERROR, 500, "Internal Server Error"),
        (Failure.TIMEOUT, 500, "Internal Server Error"),
        (Failure.EXIT, 500, "Internal Server Error"),
        (Failure.OUT_OF_MEMORY, 500, "Internal Server Error"),
        (Failure.RESPONSE_TOO_LARGE, 500, "Internal Server Error"),
        (Failure.REQUEST_TOO_LARGE, 413, "Request Entity Too Large"),
        (Failure.STOPPING, 503, "Service Unavailable"),
    ],
)
def test_a_failure_becomes_the_platforms_message(failure, status, message):
    async def check() -> None:
        async with a_front(Function(Failed(failure, b"{}"))) as port, connected(port) as client:
            received = await client.ask(GET)
        assert (received.status, json.loads(received.body)) == (status, {"message": message})

    run(check)


def test_an_answer_that_is_no_json_is_an_internal_error():
    async def check() -> None:
        async with a_front(Function(Responded(b"<html>"))) as port, connected(port) as client:
            assert (await client.ask(GET)).status == 500

    run(check)


def test_a_fault_of_the_platform_itself_is_an_internal_error_and_logged(caplog):
    async def broken(name: str, event: bytes) -> Responded:
        raise LookupError(name)

    async def check() -> None:
        async with a_front(broken) as port, connected(port) as client:
            assert (await client.ask(GET)).status == 500
            assert (await client.ask(GET)).status == 500

    run(check)
    assert "LookupError: Gateway" in caplog.text


def test_no_content_has_neither_body_nor_length():
    async def check() -> None:
        function = Function(Responded(b'{"statusCode": 204, "body": "ignored"}'))
        async with a_front(function) as port, connected(port) as client:
            await client.send(GET)
            received = await client.receive()
            assert (received.status, received.all("content-length")) == (204, [])
            assert (await client.ask(GET)).status == 204

    run(check)


@pytest.mark.parametrize(
    "line", [b"GET /nothing", b"PUT /tasks", b"OPTIONS /tasks", b"GET /tasks/", b"OPTIONS *"]
)
def test_an_unknown_route_is_not_found(line):
    async def check() -> None:
        async with a_front() as port, connected(port) as client:
            received = await client.ask(line + b" HTTP/1.1\r\nHost: here\r\n\r\n")
            assert (received.status, received.body) == (404, b'{"message": "Not Found"}')
            assert (await client.ask(GET)).status == 200

    run(check)


def test_the_answer_to_head_has_no_body():
    async def check() -> None:
        async with a_front() as port, connected(port) as client:
            await client.send(b"HEAD /tasks/7 HTTP/1.1\r\nHost: here\r\n\r\n")
            assert (await client.receive(has_body=False)).status == 404
            assert (await client.ask(GET)).status == 200

    run(check)


def test_a_page_of_the_platform_needs_no_route():
    async def metrics() -> tuple[int, str, bytes]:
        return 200, "text/plain; version=0.0.4", b"tasks 1\n"

    async def check() -> None:
        async with a_front(extra={"/metrics": metrics}) as port, connected(port) as client:
            received = await client.ask(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n")
            assert (received.status, received.all("content-type"), received.body) == (
                200,
                ["text/plain; version=0.0.4"],
                b"tasks 1\n",
            )

    run(check)
