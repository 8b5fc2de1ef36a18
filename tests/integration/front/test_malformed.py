"""Ambiguous requests are refused, and the connection is closed."""

import pytest

from tests.integration.front.client import GET, Function, a_front, connected, run

CHUNKED = b"POST /tasks HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"


def with_headers(*lines: bytes) -> bytes:
    return b"\r\n".join([b"POST /tasks HTTP/1.1", b"Host: here", *lines]) + b"\r\n\r\n"


MALFORMED = {
    "no request line": b"\x16\x03\x01\x02\r\n\r\n",
    "two words": b"GET /tasks/7\r\nHost: here\r\n\r\n",
    "two spaces": b"GET  /tasks/7 HTTP/1.1\r\nHost: here\r\n\r\n",
    "no slash": b"GET tasks HTTP/1.1\r\nHost: here\r\n\r\n",
    "fragment": b"GET /tasks/7#x HTTP/1.1\r\nHost: here\r\n\r\n",
    "control in target": b"GET /tasks/\x01 HTTP/1.1\r\nHost: here\r\n\r\n",
    "bytes in target": b"GET /tasks/\xc3\xa9 HTTP/1.1\r\nHost: here\r\n\r\n",
    "lower-case protocol": b"GET /tasks/7 http/1.1\r\nHost: here\r\n\r\n",
    "no host": b"GET /tasks/7 HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /tasks/7 HTTP/1.1\r\nHost: here\r\nHost: there\r\n\r\n",
    "strange host": b"GET /tasks/7 HTTP/1.1\r\nHost: he/re\r\n\r\n",
    "bare line feeds": b"GET /tasks/7 HTTP/1.1\nHost: here\n\n",
    "one bare line feed": b"GET /tasks/7 HTTP/1.1\r\nHost: here\nX: y\r\n\r\n",
    "bare line feed before the end": b"GET /tasks/7 HTTP/1.1\r\nHost: here\n\r\n",
    "bare carriage return": with_headers(b"X: a\rb"),
    "null": with_headers(b"X: a\x00b"),
    "delete": with_headers(b"X: a\x7fb"),
    "folded": with_headers(b"X: a", b" b"),
    "space before colon": with_headers(b"X : a"),
    "no colon": with_headers(b"nonsense"),
    "empty name": with_headers(b": a"),
    "length and chunks": with_headers(b"Content-Length: 0", b"Transfer-Encoding: chunked"),
    "two lengths": with_headers(b"Content-Length: 1", b"Content-Length: 2"),
    "the same length twice": with_headers(b"Content-Length: 0", b"Content-Length: 0"),
    "list of lengths": with_headers(b"Content-Length: 0, 0"),
    "signed length": with_headers(b"Content-Length: +1"),
    "negative length": with_headers(b"Content-Length: -1"),
    "hexadecimal length": with_headers(b"Content-Length: 0x1"),
    "empty length": with_headers(b"Content-Length:"),
    "endless length": with_headers(b"Content-Length: " + b"1" * 20),
    "two encodings": with_headers(b"Transfer-Encoding: gzip, chunked"),
    "unknown encoding": with_headers(b"Transfer-Encoding: xchunked"),
    "encoding twice": with_headers(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
    "chunks in HTTP/1.0": b"POST /tasks HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "no chunk size": CHUNKED + b"\r\n",
    "strange chunk size": CHUNKED + b"zz\r\n",
    "signed chunk size": CHUNKED + b"+5\r\nhello\r\n0\r\n\r\n",
    "prefixed chunk size": CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n",
    "space before chunk size": CHUNKED + b" 5\r\nhello\r\n0\r\n\r\n",
    "endless chunk size": CHUNKED + b"000000005\r\nhello\r\n0\r\n\r\n",
    "bare line feed after size": CHUNKED + b"5\nhello\r\n0\r\n\r\n",
    "chunk longer than said": CHUNKED + b"4\r\nhello\r\n0\r\n\r\n",
    "endless extension": CHUNKED + b"5;" + b"x" * 300,
    "null in extension": CHUNKED + b"5;\x00\r\nhello\r\n0\r\n\r\n",
    "strange trailer": CHUNKED + b"0\r\nnonsense\r\n\r\n",
}


@pytest.mark.parametrize("request_bytes", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_request_is_refused_and_nothing_after_it_is_read(request_bytes):
    async def check() -> None:
        function = Function()
        async with a_front(function) as port, connected(port) as client:
            received = await client.ask(request_bytes + GET)
            assert received.status == 400
            assert received.body == b'{"message": "Bad Request"}'
            assert received.all("connection") == ["close"]
            assert await client.is_closed()
        assert function.events == []

    run(check)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /tasks/7 HTTP/2.0\r\nHost: here\r\n\r\n", 505),
        (with_headers(b"Expect: miracles"), 417),
    ],
)
def test_what_is_well_formed_but_not_offered_has_its_own_status(request_bytes, status):
    async def check() -> None:
        async with a_front() as port, connected(port) as client:
            assert (await client.ask(request_bytes)).status == status
            assert await client.is_closed()

    run(check)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\r\n\r\n" + GET,
        b"GET http://here:80/tasks/7 HTTP/1.1\r\nHost: here\r\n\r\n",
        b"GET /tasks/7 HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
        b"GET /tasks/7 HTTP/1.1\r\nHost:\r\n\r\n",
        b"GET /tasks/7 HTTP/1.1\r\nHost: here\r\nX-Empty:\r\nX-Bytes: \xc3\xa9\r\n\r\n",
        b"GET /tasks/7 HTTP/1.0\r\n\r\n",
    ],
)
def test_unusual_but_correct_requests_are_served(request_bytes):
    async def check() -> None:
        async with a_front() as port, connected(port) as client:
            assert (await client.ask(request_bytes)).status == 200

    run(check)


@pytest.mark.parametrize("whole", [GET, CHUNKED + b"5\r\nhello\r\n0\r\nX: y\r\n\r\n"])
def test_a_request_may_arrive_byte_by_byte(whole):
    async def check() -> None:
        async with a_front() as port, connected(port) as client:
            for place in range(len(whole)):
                await client.send(whole[place : place + 1])
            assert (await client.receive()).status == 200

    run(check)
