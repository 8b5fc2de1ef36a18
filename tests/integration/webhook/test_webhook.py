"""Webhooks are signed, use TLS to the vetted address, and map responses to outcomes."""

import asyncio
import hmac
import json
import socket
import ssl
from base64 import b64decode, b64encode
from datetime import timedelta
from email.utils import format_datetime

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from functions.workers.webhook import exchange, handler
from functions.workers.webhook.answer import BODY_LIMIT
from functions.workers.webhook.keyring import Keyring
from functions.workers.webhook.resolver import Resolver
from taskmill.core.pointers import POINTED_BYTES
from taskmill.core.task import TaskType
from taskmill.execution.outcome import encode_result
from taskmill.stores.redis.egress import RedisEndpoints
from taskmill.stores.redis.session import Session
from taskmill.testing import Refused, perform
from taskmill.worker import Discard, Retry, Succeeded
from tests.builders import an_envelope
from tests.integration.webhook.conftest import HOST, OTHER_SECRET, PUBLIC, SECRET, URL, whsec
from tests.integration.webhook.receiver import OK, receiver, reset
from tests.unit.stage import Stage

CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def answer(status, *headers, body=b""):
    lines = [f"HTTP/1.1 {status} Said".encode(), *headers, b"Content-Length: %d" % len(body)]
    return b"\r\n".join([*lines, b"", body])


def verified(received, *secrets):
    """Verify a signature by the standard, without our code."""
    message_id, at = received.headers["webhook-id"], received.headers["webhook-timestamp"]
    content = f"{message_id}.{at}.".encode() + received.body
    wanted = {b64encode(hmac.new(one, content, "sha256").digest()) for one in secrets}
    reply = received.headers["webhook-signature"].split(" ")
    assert all(one.startswith("v1,") for one in reply)
    return {one.removeprefix("v1,").encode() for one in reply} == wanted


def test_a_webhook_arrives_signed_and_its_answer_is_the_result(sender, hook):
    hook.answers = [answer(201, b"Content-Type: text/plain", body=b"thanks")]
    assert sender.send(headers={"X-Shop": "17"}) == Succeeded(
        {
            "host": HOST,
            "status": 201,
            "content_type": "text/plain",
            "body": "thanks",
            "is_cut": False,
        }
    )
    (received,) = hook.received
    assert received.line == "POST /in HTTP/1.1"
    assert received.body == b'{"order":17}'
    assert verified(received, SECRET)
    assert (
        received.headers
        | {
            "host": HOST,
            "content-type": "application/json",
            "content-length": "12",
            "x-shop": "17",
            "connection": "close",
            "accept-encoding": "identity",
            "taskmill-depth": "1",
            "webhook-timestamp": str(sender.clock() // 1000),
        }
        == received.headers
    )
    assert sender.counted("delivered") == 1


def test_while_a_secret_is_rotated_both_sign(sender, hook):
    sender.signers["shop"]["secrets"] = [whsec(OTHER_SECRET), whsec(SECRET)]
    sender.surroundings = replace(
        sender.surroundings, keyring=Keyring(lambda: json.dumps(sender.signers))
    )
    sender.send()
    assert verified(hook.received[0], OTHER_SECRET, SECRET)


def test_every_try_has_the_same_id_and_its_own_date(sender, hook):
    hook.answers = [answer(503), reset, OK]
    outcomes = [type(sender.send(attempt=attempt)) for attempt in (1, 2, 3)]
    assert outcomes == [Retry, Retry, Succeeded]
    assert len({one.headers["webhook-id"] for one in hook.received}) == 1
    assert sender.resolved == [HOST] * 3
    assert (sender.counted("busy"), sender.counted("unreachable")) == (1, 1)


@pytest.mark.parametrize(
    ("fields", "body", "media"),
    [
        ({"body": "a=1&b=ü"}, "a=1&b=ü".encode(), "text/plain; charset=utf-8"),
        ({"body": ""}, b"", "text/plain; charset=utf-8"),
        ({"body": None}, b"null", "application/json"),
        ({"body": 2**70}, str(2**70).encode(), "application/json"),
        ({"body": "<a/>", "headers": {"Content-Type": "text/xml"}}, b"<a/>", "text/xml"),
    ],
)
def test_a_text_goes_as_it_is_and_all_else_as_json(sender, hook, fields, body, media):
    sender.send(**fields)
    (received,) = hook.received
    assert (received.body, received.headers["content-type"]) == (body, media)
    assert verified(received, SECRET)


def test_without_a_body_nothing_is_sent_and_signed(sender, hook):
    payload = {"url": f"{URL}?x=1", "secret": "shop", "method": "GET"}
    perform(handler.lambda_handler, payload, clock=sender.clock)
    (received,) = hook.received
    assert received.line == "GET /in?x=1 HTTP/1.1"
    assert {"content-length", "content-type"}.isdisjoint(received.headers)
    assert verified(received, SECRET)


# -- the wall ----------------------------------------------------------------------------------


def test_the_connection_goes_to_the_address_that_was_vetted(sender, hook):
    """A second look at the name would lead inside; nobody takes one."""
    sender.addresses = [[PUBLIC], ["127.0.0.1"]]
    assert isinstance(sender.send(), Succeeded)
    assert sender.dialled == [(PUBLIC, 443, HOST)]
    assert sender.resolved == [HOST]


def test_the_next_try_looks_again_and_is_refused_when_the_name_leads_inside(sender, hook):
    hook.answers = [answer(503)]
    sender.addresses = [[PUBLIC], ["127.0.0.1"]]
    assert isinstance(sender.send(), Retry)
    assert sender.send() == Discard(f"{HOST} leads to an address that is not public")
    assert len(sender.dialled) == 1
    assert sender.counted("walled") == 1


@pytest.mark.parametrize("inside", ["127.0.0.1", "169.254.169.254", "10.0.0.8", "::1", "fd00::1"])
def test_nothing_is_called_when_one_of_the_addresses_is_inside(sender, hook, inside):
    sender.addresses = [[PUBLIC, inside]]
    assert isinstance(sender.send(), Discard)
    assert sender.dialled == []


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/in",
        "https://localhost/in",
        "https://[::1]/in",
        "https://2130706433/in",
        "https://0/in",
        "https://169.254.169.254/latest/meta-data/",
        "http://hooks.example.com/in",
        "https://hooks.example.com:6379/in",
        "file:///etc/passwd",
    ],
)
def test_a_url_that_passed_the_door_all_the_same_is_discarded(sender, hook, url):
    assert isinstance(sender.send(url=url), Discard)
    assert (sender.resolved, sender.dialled) == ([], [])


@pytest.mark.parametrize("host", [HOST, HOST.upper()])
def test_no_webhook_calls_the_gateway_that_it_came_from(sender, hook, host):
    sender.surroundings = replace(sender.surroundings, api_host=HOST)
    outcome = sender.send(url=f"https://{host}/v1/tasks")
    assert outcome == Discard(f"{HOST} is taskmill itself: a webhook must not create tasks")
    assert (sender.resolved, sender.dialled) == ([], [])
    assert sender.counted("walled") == 1


@pytest.mark.parametrize("forms", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0"])
def test_the_system_would_have_taken_odd_addresses(forms):
    found = socket.getaddrinfo(forms, None, type=socket.SOCK_STREAM)
    assert found[0][4][0] in {"127.0.0.1", "0.0.0.0"}  # noqa: S104 - what we keep from


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("to", ["https://127.0.0.1/", f"https://{HOST}/other", "/other"])
def test_a_redirect_is_a_failure_and_not_followed(sender, hook, status, to):
    hook.answers = [answer(status, b"Location: " + to.encode())]
    outcome = sender.send()
    assert isinstance(outcome, Discard if status in {301, 308} else Retry)
    assert "redirects are not followed" in outcome.reason
    assert len(hook.received) == len(sender.dialled) == 1
    assert sender.counted("redirected") == 1


def test_no_proxy_of_the_environment_is_asked(sender, hook, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, address)
        assert isinstance(sender.send(), Succeeded)
        proxy.settimeout(0)
        with pytest.raises(BlockingIOError):
            proxy.accept()
    assert len(hook.received) == 1


@pytest.mark.parametrize(
    ("show", "why"),
    [
        ("expired", "its certificate has expired"),
        ("other_name", "its certificate is for another name"),
        ("unknown", "its certificate was not issued by a trusted authority"),
    ],
)
def test_who_cannot_prove_its_name_is_told_nothing(sender, certificates, show, why):
    with receiver(certificates.context(show)) as reply:
        sender.port = reply.port
        outcome = sender.send()
    assert isinstance(outcome, Retry)
    assert why in outcome.reason
    assert reply.received == []


def test_who_speaks_no_tls_is_told_nothing(sender):
    with receiver(None) as reply:
        sender.port = reply.port
        # It takes the hello of TLS for a request that never ends.
        reply.received.append(None)
        sender.surroundings = replace(
            sender.surroundings, ways=replace(sender.surroundings.ways, seconds_to_connect=0.5)
        )
        assert isinstance(sender.send(), Retry)
    assert reply.received == [None]


def test_this_machine_is_called_only_where_it_is_allowed(sender):
    sender.signers["here"] = {"host": "127.0.0.1", "secrets": [whsec(SECRET)]}
    keyring = Keyring(lambda: json.dumps(sender.signers))
    ways = replace(sender.surroundings.ways, resolve=Resolver(), dial=exchange.dial)
    sender.surroundings = replace(sender.surroundings, keyring=keyring, ways=ways)
    with receiver(None) as reply:
        url = f"http://127.0.0.1:{reply.port}/in"
        assert isinstance(sender.send(url=url, secret="here"), Discard)  # noqa: S106 - a name
        sender.surroundings = replace(sender.surroundings, reaches_loopback=True)
        assert isinstance(sender.send(url=url, secret="here"), Succeeded)  # noqa: S106 - a name
    assert [one.headers["host"] for one in reply.received] == [f"127.0.0.1:{reply.port}"]


# -- what is answered --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "outcome", "word"),
    [
        (200, Succeeded, "delivered"),
        (204, Succeeded, "delivered"),
        (299, Succeeded, "delivered"),
        (304, Retry, "redirected"),
        (400, Discard, "refused"),
        (401, Discard, "refused"),
        (404, Discard, "refused"),
        (408, Retry, "busy"),
        (410, Discard, "gone"),
        (422, Discard, "refused"),
        (425, Retry, "busy"),
        (429, Retry, "busy"),
        (500, Retry, "busy"),
        (503, Retry, "busy"),
        (599, Retry, "busy"),
    ],
)
def test_the_status_decides(sender, hook, status, outcome, word):
    hook.answers = [answer(status)]
    assert isinstance(sender.send(), outcome)
    assert sender.counted(word) == 1


@pytest.mark.parametrize(
    ("reply", "seconds"),
    [
        ("0", 1),
        ("17", 17),
        ("3600", 3600),
        ("3601", 3600),
        ("9" * 5000, 3600),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
    ],
)
def test_who_asks_us_to_come_later_is_obeyed_within_bounds(sender, hook, reply, seconds):
    hook.answers = [answer(429, f"Retry-After: {reply}".encode())]
    wait = None if seconds is None else timedelta(seconds=seconds)
    assert sender.send() == Retry(f"{HOST} answered 429", wait)


@pytest.mark.parametrize(
    ("ahead", "wait"), [(-60, 1), (90, 90), (86_400, 3600)], ids=["past", "soon", "tomorrow"]
)
def test_a_date_to_come_again_is_obeyed_within_bounds(sender, hook, ahead, wait):
    date = sender.now().replace(microsecond=0) + timedelta(seconds=ahead)
    hook.answers = [answer(503, f"Retry-After: {format_datetime(date, usegmt=True)}".encode())]
    outcome = sender.send()
    assert abs(outcome.delay - timedelta(seconds=wait)) <= timedelta(seconds=1)


def test_a_receiver_that_is_gone_is_not_called_again_until_it_is_enabled(sender, hook):
    hook.answers = [answer(410), OK]
    assert "disabled" in sender.send(url=f"{URL}?first").reason
    assert sender.send(url=f"{URL}?second") == Discard(
        f"{URL} is disabled because it answered 410: enable it to call it again"
    )
    assert len(hook.received) == 1
    assert isinstance(sender.send(url=f"https://{HOST}/other"), Succeeded)
    assert sender.surroundings.endpoints.enable(URL)
    assert isinstance(sender.send(), Succeeded)
    assert (sender.counted("gone"), sender.counted("disabled")) == (1, 1)


def test_without_redis_a_webhook_is_sent_and_nobody_disabled(sender, hook):
    away = RedisEndpoints(Session("redis://127.0.0.1:1/0"))
    sender.surroundings = replace(sender.surroundings, endpoints=away)
    hook.answers = [OK, answer(410)]
    assert isinstance(sender.send(), Succeeded)
    assert isinstance(sender.send(), Discard)


@pytest.mark.parametrize("size", [BODY_LIMIT - 1, BODY_LIMIT, BODY_LIMIT + 1, 5_000_000])
@pytest.mark.parametrize("letter", [b"a", b"\x01", b"\x00", b"\xff", "€".encode()])
def test_of_a_long_answer_64_kib_are_kept_whatever_they_are_as_json(sender, hook, size, letter):
    body = (letter * size)[:size]
    hook.answers = [answer(200, body=body)]
    outcome = sender.send()
    kept = body[:BODY_LIMIT].decode("utf-8", "replace").replace("\0", "\ufffd")
    assert (outcome.result["body"], outcome.result["is_cut"]) == (kept, size > BODY_LIMIT)
    assert len(encode_result(outcome.result, limit=POINTED_BYTES)) > BODY_LIMIT - 1


def test_an_answer_that_is_too_long_to_travel_is_pointed_at(sender, hook, monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    hook.answers = [answer(200, body=b"\x01" * BODY_LIMIT)]
    payload = Raw(msgspec.json.encode({"url": URL, "secret": "shop"}))
    stage.deliver(handler.lambda_handler, an_envelope(type=TaskType("webhook"), payload=payload))
    (end,) = stage.log.facts()
    content = stage.blobs.read(end.result_ref.url, most=POINTED_BYTES)
    assert msgspec.json.decode(content)["body"] == "\x01" * BODY_LIMIT


@pytest.mark.parametrize(
    ("octets", "body", "is_cut"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nto the end", "to the end", False),
        (f"{CHUNKED}3;x=1\r\nabc\r\n2\r\nde\r\n0\r\n\r\n".encode(), "abcde", False),
        (b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", False),
        (b"HTTP/1.0 200 OK\r\ncontent-length:2\r\n\r\nok and more", "ok", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "short", True),
        (f"{CHUNKED}zz\r\n".encode(), "", True),
        (f"{CHUNKED}5\r\nab".encode(), "ab", True),
        (f"{CHUNKED}{'1' * 50_000}".encode(), "", True),
    ],
)
def test_answers_in_every_form_are_read(sender, hook, octets, body, is_cut):
    hook.answers = [octets]
    result = sender.send().result
    assert (result["body"], result["is_cut"]) == (body, is_cut)


@pytest.mark.parametrize(
    "octets",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: y",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 999 Odd\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 20,
        b"\x00" * 1_000 + b"\r\n\r\n",
    ],
)
def test_what_is_no_answer_is_tried_again(sender, hook, octets):
    hook.answers = [octets]
    assert isinstance(sender.send(), Retry)
    assert sender.counted("unreachable") == 1


def test_who_does_not_answer_is_left_in_time(sender, hook):
    hook.answers = [hook.hold()]
    sender.late = timedelta(seconds=28)
    outcome = sender.send()
    assert outcome == Retry(f"{HOST} did not answer within 1.8 s")
    assert hook.left.wait(10)


@pytest.mark.parametrize("headers", [b"Content-Length: 99", b"Transfer-Encoding: chunked", b"A: b"])
def test_who_has_answered_is_not_asked_again_because_the_rest_is_slow(sender, hook, headers):
    hook.answers = [hook.hold(b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n\r\n5\r\nhello")]
    sender.late = timedelta(seconds=28)
    result = sender.send().result
    assert (result["status"], result["is_cut"]) == (200, True)
    assert "hello" in result["body"]
    assert hook.left.wait(10)


def test_who_answers_before_everything_was_read_is_heard(sender, hook):
    def refuse(connection):
        connection.sendall(answer(413))

    hook.serve = lambda connection: (connection.recv(10), refuse(connection))
    outcome = sender.send(body="x" * 200_000)
    assert isinstance(outcome, (Discard, Retry))  # a reset may overtake the answer


def test_who_cannot_be_found_is_tried_again(sender):
    sender.addresses = [socket.gaierror("no such name")]
    assert sender.send() == Retry(f"{HOST} cannot be found")
    sender.addresses = [[]]
    assert sender.send() == Retry(f"{HOST} has no address")


def test_a_dead_resolver_costs_no_more_than_the_time_to_connect(sender):
    async def never(_host):
        await asyncio.Event().wait()

    ways = replace(sender.surroundings.ways, resolve=never, seconds_to_connect=0.2)
    sender.surroundings = replace(sender.surroundings, ways=ways)
    assert sender.send() == Retry(f"{HOST} could not be reached within 0.2 s")


def test_who_refuses_at_one_address_is_tried_at_the_next(sender, hook):
    ways = sender.surroundings.ways
    sender.addresses = [["8.8.8.8", PUBLIC]]

    async def dial(address, port, context, name):
        if address == "8.8.8.8":
            sender.dialled.append((address, port, name))
            raise ConnectionRefusedError("not here")
        return await ways.dial(address, port, context, name)

    sender.surroundings = replace(sender.surroundings, ways=replace(ways, dial=dial))
    assert isinstance(sender.send(), Succeeded)
    assert [address for address, *_ in sender.dialled] == ["8.8.8.8", PUBLIC]


def test_who_is_not_there_is_tried_again(sender):
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender.port = server.getsockname()[1]
    assert isinstance(sender.send(), Retry)


# -- what signs --------------------------------------------------------------------------------


def test_a_secret_signs_nothing_for_another_host(sender, hook):
    """Otherwise anyone who may submit could obtain messages signed in the shop's name."""
    outcome = sender.send(url="https://thief.example.com/in")
    assert outcome == Discard("the signing secret shop is for another host than thief.example.com")
    assert sender.dialled == []
    assert sender.counted("unsigned") == 1


def test_without_a_secret_nothing_is_sent(sender, hook):
    assert sender.send(secret="bank") == Discard(  # noqa: S106 - a name
        "there is no signing secret named bank"
    )
    assert hook.received == []


def test_nobody_learns_a_secret(sender, hook, caplog):
    hook.answers = [answer(500), answer(400), OK]
    reply = [repr(sender.send()) for _ in range(3)]
    shown = " ".join([*reply, caplog.text, *(str(one.headers) for one in hook.received)])
    for secret in (whsec(SECRET), b64encode(SECRET).decode(), SECRET.decode()):
        assert secret not in shown


@pytest.mark.parametrize(
    "headers",
    [
        {"X": "a\r\nHost: inside"},
        {"X": "a\n"},
        {"X": "a\x00"},
        {"X": "ü"},
        {"X": " a"},
        {"X\r\nHost": "a"},
        {"X ": "a"},
        {"X:": "a"},
        {"": "a"},
        {"Host": "inside"},
        {"host": "inside"},
        {"Content-Length": "1"},
        {"Transfer-Encoding": "chunked"},
        {"Connection": "keep-alive"},
        {"Proxy-Authorization": "x"},
        {"Webhook-Signature": "v1,x"},
        {"webhook-id": "x"},
        {"Taskmill-Depth": "0"},
        {"X-A": "1", "x-a": "2"},
        {f"X-{number}": "a" * 4_000 for number in range(3)},
    ],
)
def test_headers_that_would_break_the_request_do_not_fit(sender, headers):
    with pytest.raises(Refused):
        sender.send(headers=headers)


def test_tls_is_not_older_than_it_should_be():
    context = handler.context_with("")
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED


def test_the_signature_is_base64_of_32_bytes(sender, hook):
    sender.send()
    reply = hook.received[0].headers["webhook-signature"]
    assert len(b64decode(reply.removeprefix("v1,"))) == 32
