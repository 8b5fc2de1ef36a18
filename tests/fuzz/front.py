"""Fuzzes the HTTP front with the gateway: every response must be HTTP."""

import asyncio
import json
import re
import socket
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import strategies as st

from functions.gateway.handler import lambda_handler
from taskmill import __version__
from taskmill_local.front.guard import local_only
from taskmill_local.front.server import Front
from taskmill_local.lambdas.answer import Responded
from taskmill_local.template.read import read_plan
from tests.fuzz.decoders import moments, spellings
from tests.fuzz.explore import Target
from tests.integration.front.test_malformed import MALFORMED
from tests.json_values import values as json_values
from tests.unit.stage import Stage

ROOT = Path(__file__).parents[2]
GIVEN = {"KafkaBrokers": "here:1", "RedisUrl": "redis://here:2", "PostgresDsn": "postgresql://here"}
PATIENCE_SECONDS = 20
STATUSES = {100, 200, 202, 400, 403, 404, 405, 408, 413, 415, 417, 422, 431, 503, 505}
GOOD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
WELL = b'{"status":"ok","version":"%b"}' % __version__.encode()

_HEAD = re.compile(
    rb"HTTP/1\.1 ([1-5][0-9]{2}) [A-Za-z -]*\r\n((?:[a-z0-9-]+: [\t -~\x80-\xff]*\r\n)*)\r\n"
)
_LENGTH = re.compile(rb"^content-length: ([0-9]+)\r$", re.MULTILINE)


@contextmanager
def a_front():
    """Yield the port of a front that calls a gateway with in-memory stores."""
    stage, is_over = Stage(), Event()
    routes = read_plan(ROOT / "template.yaml", root=ROOT, parameters=GIVEN).routes

    async def call(_name, event):
        return Responded(json.dumps(lambda_handler(json.loads(event), stage.context())).encode())

    async def serve():
        front = Front(routes, call, guard=local_only)
        ports.append(await front.start(0))
        is_up.set()
        await asyncio.to_thread(is_over.wait)
        await front.stop(timedelta(0))

    is_up, ports = Event(), []
    thread = Thread(target=lambda: asyncio.run(serve()))
    with pytest.MonkeyPatch.context() as patch:
        stage.bind(patch)
        thread.start()
        try:
            assert is_up.wait(PATIENCE_SECONDS)
            yield ports[0]
        finally:
            is_over.set()
            thread.join()


def said_to(port, octets):
    """Send *octets* and nothing more; return the whole response, and whether it broke off."""
    result = bytearray()
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as line:
        try:
            line.sendall(octets)
            line.shutdown(socket.SHUT_WR)
            while part := line.recv(65_536):
                result += part
        except ConnectionError:
            return bytes(result), True
    return bytes(result), False


def answers_in(result, *, is_cut):
    """Return the responses in *told*, which must contain nothing else."""
    answers = []
    while result:
        head = _HEAD.match(result)
        if head is None:
            assert is_cut, result[:500]
            break
        result = result[head.end() :]
        length = _LENGTH.search(head[2])
        has_body = length is not None and result and not result.startswith(b"HTTP/1.1 ")
        body, result = (
            (result[: int(length[1])], result[int(length[1]) :]) if has_body else (b"", result)
        )
        assert is_cut or not has_body or len(body) == int(length[1])
        answers.append((int(head[1]), body))
    return answers


def goes_on_behind(port):
    def holds(octets):
        result, is_cut = said_to(port, octets)
        for status, body in answers_in(result, is_cut=is_cut):
            assert status in STATUSES, (status, body)
            assert b"Traceback" not in body
            assert status != 503 or json.loads(body)["type"] == "unavailable"
        assert answers_in(said_to(port, GOOD)[0], is_cut=False) == [(200, WELL)]

    return holds


_METHODS = ["GET", "POST", "PATCH", "HEAD", "PUT", "OPTIONS", "get", "BREW", "PRI", "A" * 300, ""]
_PATHS = [
    *("/", "*", "/v1/tasks", "/v1/tasks/batch", "/v1/tasks/x", "/v1/tasks/x/cancel", "/v1/types"),
    *("/v1/tasks/01a1b2c3-0000-7000-8000-000000000001/history", "/v1/redrives", "/healthz"),
    *("/v1/tasks/01a1b2c3-0000-7000-8000-000000000001", "/v1/redrives/x/stop", "/v1/payloads"),
    *(
        "/v1/quarantine",
        "/v1/quarantine/a:0:1:0",
        "/v1/quarantine/a:0:1:0/discard",
        "/v1/endpoints/enable",
        "/v1/stats",
    ),
    *("http://here/v1/tasks", "/v1/tasks/%00", "/v1/tasks/%ff%fe", "/%2e%2e/v1", "/readyz"),
]
_NAMES = [
    *("type", "status", "limit", "cursor", "wait", "include", "created_after", "metadata.k", "x"),
    *("reason", "dead_after", "discarded", ""),
]
_HEADERS = [
    *("Content-Type", "Content-Encoding", "Idempotency-Key", "Expect", "Connection", "Host", "X"),
    *("Transfer-Encoding", "Content-Length", "Cookie", "Authorization", "X-Amzn-Trace-Id"),
]
_VALUES = [
    *("", "application/json", "identity", "gzip", "100-continue", "close", "keep-alive", "chunked"),
    *(
        "0",
        "5",
        "-1",
        "9" * 30,
        "a=1; b=2",
        "Bearer x",
        "é",
        "x" * 300,
        "here",
        "text/plain",
        "a,b",
    ),
]
_words = st.text(st.characters(max_codepoint=0x2FF), max_size=8)
_querys = st.lists(
    st.tuples(
        st.sampled_from(_NAMES) | _words,
        st.sampled_from(["", "1", "echo", "dead", "%00", "%ff", "AAAA", "&", "=", "+"])
        | _words
        | moments,
    ),
    max_size=3,
).map(lambda pairs: "&".join(f"{name}={value}" for name, value in pairs))
_bodies = st.just(b"") | spellings | st.binary(max_size=60)
_orders = st.dictionaries(
    st.sampled_from(
        ["type", "reason", "error_class", "dead_after", "dead_before", "rate_per_second", "limit"]
    )
    | st.sampled_from(["url", "size", "sha256", "run_at", "delay_seconds", "metadata"]),
    moments | json_values,
    max_size=4,
).map(lambda order: json.dumps(order).encode())
_batches = st.lists(spellings, max_size=3).map(lambda result: b'{"tasks":[%b]}' % b",".join(result))


def _in_chunks(body, size):
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in [*parts, b""])


@st.composite
def requests(draw):
    """Return a request that is valid, or invalid in a few places."""
    query = draw(st.just("") | _querys)
    target = draw(st.sampled_from(_PATHS)) + ("?" + query if query else "")
    body = draw(_bodies | _batches | _orders)
    headers = [("Host", "localhost"), ("Content-Type", "application/json")]
    headers += draw(
        st.lists(
            st.tuples(st.sampled_from(_HEADERS), st.sampled_from(_VALUES) | _words), max_size=2
        )
    )
    match draw(st.sampled_from(["length", "length", "length", "chunks", "wrong", "none"])):
        case "length":
            headers.append(("Content-Length", str(len(body))))
        case "chunks":
            headers.append(("Transfer-Encoding", "chunked"))
            body = _in_chunks(body, draw(st.integers(1, 40)))
        case "wrong":
            headers.append(("Content-Length", str(len(body) + draw(st.integers(-3, 3)))))
    version = draw(st.sampled_from(["HTTP/1.1"] * 6 + ["HTTP/1.0", "HTTP/2.0", "http/1.1"]))
    lines = [f"{draw(st.sampled_from(_METHODS[:3] * 4 + _METHODS))} {target} {version}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@st.composite
def _wounded(draw):
    whole = draw(requests() | st.sampled_from([*MALFORMED.values(), GOOD]))
    at = draw(st.integers(0, len(whole)))
    return whole[:at] + draw(st.binary(max_size=4)) + whole[at + draw(st.integers(0, 4)) :]


_lines = st.lists(requests() | requests() | _wounded(), min_size=1, max_size=4).map(b"".join)


def targets(port):
    holds = goes_on_behind(port)
    return (
        Target("lines of bytes", st.binary(max_size=200), holds),
        Target("lines of requests", _lines, holds),
    )
