"""The event that a function receives for an HTTP request: payload format 2.0."""

import asyncio
import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.integration.front.client import Function, a_front, connected, post

REQUEST = (
    b"GET /tasks/a%20b%2Fc?tag=x&tag=y%20z&plus=a+b&empty= HTTP/1.1\r\n"
    b"Host: here:8080\r\n"
    b"User-Agent: tester/1\r\n"
    b"X-Twice: 1\r\n"
    b"x-twice:2 \r\n"
    b"Cookie: a=1; b=2\r\n"
    b"Cookie: c=3\r\n"
    b"X-Forwarded-For: 10.0.0.1\r\n"
    b"X-Amzn-Trace-Id: Root=1-00000000-000000000000000000000000\r\n"
    b"Connection: keep-alive\r\n"
    b"\r\n"
)


def event_for(request: bytes) -> tuple[dict[str, Any], int, dict[str, str]]:
    async def ask() -> tuple[dict[str, Any], int, dict[str, str]]:
        function = Function()
        async with a_front(function) as port, connected(port) as client:
            received = await client.ask(request)
        ((_, event),) = function.events
        return json.loads(event), port, dict(received.headers)

    return asyncio.run(ask())


def test_an_event_has_every_field_of_format_2():
    before = datetime.now(UTC)
    event, port, response_headers = event_for(REQUEST)
    context = event["requestContext"]
    instant = datetime.fromtimestamp(context["timeEpoch"] / 1_000, UTC)
    assert abs((instant - before).total_seconds()) < 60
    assert event == {
        "version": "2.0",
        "routeKey": "GET /tasks/{id}",
        "rawPath": "/tasks/a b/c",
        "rawQueryString": "tag=x&tag=y%20z&plus=a+b&empty=",
        "cookies": ["a=1", "b=2", "c=3"],
        "headers": {
            "host": "here:8080",
            "user-agent": "tester/1",
            "x-twice": "1,2",
            "x-forwarded-for": "10.0.0.1, 127.0.0.1",
            "x-forwarded-port": str(port),
            "x-forwarded-proto": "http",
            "x-amzn-trace-id": "Root=1-00000000-000000000000000000000000",
        },
        "queryStringParameters": {"tag": "x,y z", "plus": "a b", "empty": ""},
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "domainName": "localhost",
            "domainPrefix": "localhost",
            "http": {
                "method": "GET",
                "path": "/tasks/a b/c",
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": "tester/1",
            },
            "requestId": response_headers["apigw-requestid"],
            "routeKey": "GET /tasks/{id}",
            "stage": "$default",
            "time": instant.strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "timeEpoch": context["timeEpoch"],
        },
        "pathParameters": {"id": "a b/c"},
        "isBase64Encoded": False,
    }


def test_what_a_request_does_not_have_is_absent():
    event, _, _ = event_for(b"POST /tasks HTTP/1.1\r\nHost: here\r\n\r\n")
    absent = {"cookies", "queryStringParameters", "pathParameters", "body"}
    assert not absent & event.keys()


def test_a_request_without_a_trace_gets_one():
    event, _, _ = event_for(b"POST /tasks HTTP/1.1\r\nHost: here\r\n\r\n")
    root, epoch, rest = event["headers"]["x-amzn-trace-id"].split("-")
    assert (root, len(epoch), len(rest)) == ("Root=1", 8, 24)


@pytest.mark.parametrize(
    ("content_type", "body", "is_text"),
    [
        ("application/json", b'{"a": "\xc3\xa9"}', True),
        ("application/json; charset=utf-8", b"{}", True),
        ("text/csv", b"a,b", True),
        ("application/xml", b"<a/>", True),
        ("application/javascript", b"1", True),
        ("application/octet-stream", b"\x00\xff", False),
        ("application/x-www-form-urlencoded", b"a=1", False),
        ("application/json", b"\xff\xfe", False),
        ("", b"plain", False),
    ],
)
def test_a_body_is_text_or_base64_by_its_type(content_type, body, is_text):
    headers = [f"Content-Type: {content_type}".encode()] if content_type else []
    event, _, _ = event_for(post(body, *headers))
    expected = body.decode() if is_text else base64.b64encode(body).decode()
    assert (event["body"], event["isBase64Encoded"]) == (expected, not is_text)


def test_a_chunked_body_arrives_whole_with_its_length():
    event, _, _ = event_for(
        b"POST /tasks HTTP/1.1\r\nHost: here\r\nContent-Type: text/plain\r\n"
        b"Transfer-Encoding: Chunked\r\n\r\n"
        b"5\r\nhello\r\n1;name=value\r\n \r\n00A\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\n"
    )
    assert event["body"] == "hello 0123456789"
    assert event["headers"]["content-length"] == "16"
    assert not event["headers"].keys() & {"transfer-encoding", "x-trailer"}


def test_a_greedy_parameter_takes_the_rest_of_the_path():
    event, _, _ = event_for(b"GET /files/a/b%20c.txt HTTP/1.1\r\nHost: here\r\n\r\n")
    assert event["pathParameters"] == {"proxy": "a/b c.txt"}
