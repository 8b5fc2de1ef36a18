"""Invalid requests get an immediate, readable refusal and change nothing."""

import json
import sys
from statistics import median, quantiles
from uuid import uuid4

import pytest

from tests.acceptance.ledger import history
from tests.acceptance.raw import JSON, SlowClients, a_request, ask, leave_behind, timed
from tests.integration.front.test_malformed import MALFORMED
from tests.prometheus import parse
from tests.waiting import eventually

PATIENCE = 20
LONG = 60
SLOW = 50
TRIES = 3
"""Most of them must be quick: a busy machine is slow once, what is slow by itself is so always."""

FIRST_TRIES = []
"""How many seconds each line took when it was tried for the first time."""

NOBODY = "01a1ef2c-e0f2-73ed-aa8e-b76fd0178442"
KEY = "Idempotency-Key"
PAYLOAD_BYTES = 262_144
BATCH_BYTES = 5 * 1024 * 1024


@pytest.fixture(scope="module")
def hounded(stack):
    """Yield a client of a system with fifty other clients, each slow in its own way."""
    client, mark = stack.client, uuid4().hex
    large = {"type": "echo", "payload": {"say": "." * 60_000}, "metadata": {"mark": mark}}
    batch = client.post("/v1/tasks/batch", {"tasks": [large] * 40})
    for result in batch.body["results"]:
        client.task(result["task"]["id"], wait=PATIENCE)
    page = f"/v1/tasks?metadata.mark={mark}&limit=200"
    eventually(lambda: len(client.get(page).text) > 1_500_000, within=LONG, reason="a large answer")
    with SlowClients(client, SLOW, large=page):
        eventually(
            lambda: timed(lambda: client.get("/healthz"))[1] <= 1,
            within=LONG,
            reason="their first requests are answered, and they hang on",
        )
        yield client


def errors_of(client):
    return client.platform()["functions"]["Gateway"]["errors"]


@pytest.fixture(scope="module", autouse=True)
def errors_before(stack):
    return errors_of(stack.client)


def a_task(**fields):
    return json.dumps({"type": "echo"} | fields).encode()


def saying(value):
    """Return a task with *value*, which is JSON or nearly so."""
    return b'{"type": "echo", "payload": {"say": %b}}' % value


def nested(depth):
    return b"[" * depth + b"]" * depth


def filled(letter, size):
    """Return a task whose payload has exactly *size* bytes as JSON."""
    width, room = len(letter.encode()), size - len(b'{"say":""}')
    return saying(b'"%b"' % (letter * (room // width) + "x" * (room % width)).encode())


def a_batch_of(size):
    head, tail = b'{"tasks": [%b], "more": "' % a_task(), b'"}'
    return head + b"x" * (size - len(head) - len(tail)) + tail


def posted(body, *headers, to="/v1/tasks"):
    return a_request("POST", to, body, JSON + headers)


def read(target):
    return a_request("GET", target, headers=())


NOT_JSON = {
    "nothing": b"",
    "more behind it": b"{} {}",
    "a byte order mark": b"\xef\xbb\xbf" + a_task(),
    "UTF-16": '{"type": "echo"}'.encode("utf-16"),
    "Latin-1": '{"type": "é"}'.encode("latin-1"),
    "a key twice": b'{"type": "echo", "type": "echo"}',
    "a tenant twice": b'{"type": "echo", "tenant": "a", "tenant": "b"}',
    "a key twice further in": saying(b'{"a": 1, "\\u0061": 2}'),
    "NaN": saying(b"NaN"),
    "Infinity": saying(b"-Infinity"),
    "1e400": saying(b"1e400"),
    "a digit too many": saying(b"9" * 4_301),
    "a digit too many below zero": saying(b"-" + b"9" * 4_300),
    "half a pair": saying(b'"\\ud800"'),
    "half a pair in bytes": saying(b'"\xed\xa0\x80"'),
    "half a pair in a key": saying(b'{"\\udfff": 1}'),
    "a delay of NaN": b'{"type": "echo", "delay_seconds": NaN}',
    "NUL": saying(b'"\\u0000"'),
    "a NUL as it is": saying(b'"\0"'),
    "zeros": b"\0" * 1_000_000,
    "one level too many": saying(nested(31)),
    "100,000 levels": saying(nested(100_000)),
    "100,000 open levels": saying(b'{"a":' * 100_000),
}
WRONG = {
    "no object": (b"[]", ""),
    "a task in a list": (b"[%b]" % a_task(), ""),
    "no type": (b"{}", "/type"),
    "a type that is a number": (a_task(type=7), "/type"),
    "another type": (a_task(type="nobody"), "/type"),
    "a type like a key": (a_task(type="tm:{4.1}:*\n"), "/type"),
    "a type that looks alike": (a_task(type="\u0435cho"), "/type"),
    "status": (a_task(status="succeeded"), "/status"),
    "tenant": (a_task(tenant="a:b"), "/tenant"),
    "tenant_id": (a_task(tenant_id="{}"), "/tenant_id"),
    "attempts": (a_task(attempts=0), "/attempts"),
    "token": (a_task(token=1), "/token"),
    "a field with a slash": (a_task(**{"a/b~c": 1}), "/a~1b~0c"),
    "no attempts": (a_task(max_attempts=0), "/max_attempts"),
    "less than none": (a_task(max_attempts=-1), "/max_attempts"),
    "a thousand million attempts": (a_task(max_attempts=10**9), "/max_attempts"),
    "an attempt that is true": (a_task(max_attempts=True), "/max_attempts"),
    "no time": (a_task(timeout_seconds=0), "/timeout_seconds"),
    "more time than the worker has": (a_task(timeout_seconds=301), "/timeout_seconds"),
    "all the time there is": (a_task(timeout_seconds=1e308), "/timeout_seconds"),
    "a time without a zone": (a_task(run_at="2026-01-31T12:00:00"), "/run_at"),
    "a time in the year 9999": (a_task(run_at="9999-12-31T23:59:59Z"), "/run_at"),
    "a time beyond all years": (a_task(run_at="10000-01-01T00:00:00Z"), "/run_at"),
    "a leap second": (a_task(run_at="2026-12-31T23:59:60Z"), "/run_at"),
    "a time that is a number": (a_task(run_at=1e18), "/run_at"),
    "a time below zero": (a_task(run_at=-1), "/run_at"),
    "an end in the year 9999": (a_task(expires_at="9999-12-31T23:59:59Z"), "/expires_at"),
    "an end before its begin": (
        a_task(run_at="2020-01-02T00:00:00Z", expires_at="2020-01-01T00:00:00Z"),
        "/expires_at",
    ),
    "a delay below zero": (a_task(delay_seconds=-1), "/delay_seconds"),
    "a delay without an end": (a_task(delay_seconds=1e308), "/delay_seconds"),
    "a delay that is no number": (a_task(delay_seconds="5"), "/delay_seconds"),
    "a delay and a time": (
        a_task(delay_seconds=1, run_at="2026-12-31T23:59:59Z"),
        "/delay_seconds",
    ),
    "a priority of one's own": (a_task(priority="urgent"), "/priority"),
    "a wait below zero": (a_task(retry={"first_seconds": -1}), "/retry/first_seconds"),
    "no metadata": (a_task(metadata=None), "/metadata"),
    "a number in metadata": (a_task(metadata={"a": 1}), "/metadata"),
    "too many metadata": (a_task(metadata={str(n): "" for n in range(33)}), "/metadata"),
    "too long metadata": (a_task(metadata={"a": "\x01" * 200}), "/metadata"),
    "a payload that is a list": (a_task(payload=[]), "/payload"),
    "a payload with more in it": (a_task(payload={"more": 1}), "/payload"),
    "a payload against its type": (
        a_task(payload={"sleep_seconds": "1"}),
        "/payload/sleep_seconds",
    ),
    "an empty key": (a_task(idempotency_key=""), "/idempotency_key"),
    "a key of 10 kB": (a_task(idempotency_key="x" * 10_000), "/idempotency_key"),
    "a key of other letters": (a_task(idempotency_key="é"), "/idempotency_key"),
    "a key with nothing to see": (a_task(idempotency_key="k\u200b"), "/idempotency_key"),
    "a key of two lines": (a_task(idempotency_key="a\r\nb"), "/idempotency_key"),
    "a webhook to this machine": (
        a_task(type="webhook", payload={"url": "https://①②⑦.0.0.1/", "secret": "s"}),
        "/payload/url",
    ),
    "a webhook of two lines": (
        a_task(type="webhook", payload={"url": "https://a.example/\r\nX: y", "secret": "s"}),
        "/payload/url",
    ),
    "a mail of two headers": (
        a_task(
            type="email",
            payload={"to": ["a@b.example\nBcc: c@d.example"], "subject": "", "text": "x"},
        ),
        "/payload/to/0",
    ),
    "a mail to ten thousand": (
        a_task(type="email", payload={"to": ["a@b.example"] * 10_000, "subject": "", "text": "x"}),
        "/payload/to",
    ),
}
KEYS = {
    "empty": [""],
    "of 9 kB": ["x" * 9_000],
    "of other letters": ["é"],
    "twice": ["a", "b"],
    "twice the same": ["a", "a"],
    "two in one": ["a,b"],
}
BATCHES = {
    "of nothing": b'{"tasks": []}',
    "of too many": json.dumps({"tasks": [{"type": "echo"}] * 1_001}).encode(),
    "of a word": b'{"tasks": "echo"}',
    "with more beside it": a_batch_of(1_000),
    "as long as it may be": a_batch_of(BATCH_BYTES),
}
QUESTIONS = {
    "/v1/tasks?limit=0": (422, "limit"),
    "/v1/tasks?limit=-1": (422, "limit"),
    "/v1/tasks?limit=1e9": (422, "limit"),
    "/v1/tasks?limit=201": (422, "limit"),
    "/v1/tasks?metadata.=x": (422, "metadata."),
    "/": (404, None),
    "/v1/nowhere": (404, None),
    "/v1/tasks/batch/": (404, None),
    "/v1/payloads": (405, None),
    "/v1/tasks?limit=%D9%A3": (422, "limit"),
    "/v1/tasks?sort=id": (422, "sort"),
    "/v1/tasks?status=lost": (422, "status"),
    "/v1/tasks?metadata.a=%00": (422, "metadata.a"),
    "/v1/tasks?created_after=yesterday": (422, "created_after"),
    "/v1/tasks?created_after=2026-01-31T12:00:00": (422, "created_after"),
    "/v1/tasks?reason=failed": (422, "reason"),
    "/v1/tasks?cursor=AAAA": (400, None),
    "/v1/tasks?cursor=%ff%fe": (400, None),
    "/v1/quarantine?cursor=AAAA": (400, None),
    f"/v1/tasks/{NOBODY}?wait=26": (422, "wait"),
    f"/v1/tasks/{NOBODY}?include=secrets": (422, "include"),
    "/v1/tasks/" + "x" * 8_000: (404, None),
    "/v1/tasks/%00": (404, None),
    "/v1/tasks/..%2F..%2Fetc%2Fpasswd": (404, None),
    "/v1/tasks/%27%20OR%201=1%20--": (404, None),
    "/v1/tasks/%E2%80%AE01a1": (404, None),
    "/v1/tasks/01A1EF2C-E0F2-73ED-AA8E-B76FD0178442": (404, None),
    "/v1/tasks/e%CC%81": (404, None),
    "/v1/redrives/nobody": (404, None),
}
MEANINGFUL = [
    "'; DROP TABLE tasks; --",
    "\"); redis.call('FLUSHALL') --",
    '{"$ne": null}, [] \\" \\u0041',
    "{{7*7}} ${7*7} #{7*7} <%= 7*7 %>",
    "tm:{4.1}:* ? [a-z]",
    "%s %(task_id)s {0} %00 &amp;",
    "../../etc/passwd",
    "default\\:echo",
]
TYPES = {
    "none": (),
    "a form": (("Content-Type", "application/x-www-form-urlencoded"),),
    "nearly": (("Content-Type", "application/jsonp"),),
    "a bomb": (*JSON, ("Content-Encoding", "gzip")),
    "two": (*JSON, ("Content-Encoding", "identity, br")),
}
ELSEWHERE = ("HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "PURGE")
LINES = (
    {f"not JSON: {why}": (posted(body), 400, None) for why, body in NOT_JSON.items()}
    | {
        f"no batch: {why}": (posted(body, to="/v1/tasks/batch"), 400, None)
        for why, body in NOT_JSON.items()
    }
    | {why: (posted(body), 422, field) for why, (body, field) in WRONG.items()}
    | {
        f"a key {why}": (
            posted(a_task(), *((KEY, key) for key in keys)),
            422,
            "/idempotency_key",
        )
        for why, keys in KEYS.items()
    }
    | {
        "two keys that differ": (
            posted(a_task(idempotency_key="a"), (KEY, "b")),
            422,
            "/idempotency_key",
        ),
        "a key of a batch": (
            posted(b'{"tasks": [%b]}' % a_task(), (KEY, "a"), to="/v1/tasks/batch"),
            422,
            "/tasks",
        ),
        "a payload too long by a byte": (posted(filled("x", PAYLOAD_BYTES + 1)), 413, "/payload"),
        "a payload too long by a letter": (posted(filled("é", PAYLOAD_BYTES + 1)), 413, "/payload"),
        "a batch too long by a byte": (
            posted(a_batch_of(BATCH_BYTES + 1), to="/v1/tasks/batch"),
            413,
            None,
        ),
        "from a webhook": (posted(a_task(), ("taskmill-depth", "1")), 403, None),
    }
    | {
        f"a batch {why}": (posted(body, to="/v1/tasks/batch"), 422, "/tasks")
        for why, body in BATCHES.items()
    }
    | {
        f"of type {why}": (a_request("POST", "/v1/tasks", a_task(), reply), 415, None)
        for why, reply in TYPES.items()
    }
    | {target[:40]: (read(target), *answer) for target, answer in QUESTIONS.items()}
)


def at_once(client, octets):
    """Return the answer, which must come within a second in most tries."""
    answers = [timed(lambda: ask(client, octets)) for _ in range(TRIES)]
    spans = [seconds for _, seconds in answers]
    FIRST_TRIES.append(spans[0])
    assert median(spans) <= 1, spans
    return answers[0][0]


@pytest.mark.parametrize("line", LINES)
def test_a_bad_request_is_refused_in_words_within_a_second(hounded, line):
    octets, status, field = LINES[line]
    reply = at_once(hounded, octets)
    assert (reply.status, reply.body.get("field")) == (status, field), reply
    assert reply.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail"} <= set(reply.body)
    assert reply.body["status"] == status
    assert len(reply.text) < 5_000
    assert "Traceback" not in reply.text


@pytest.mark.parametrize("method", ELSEWHERE)
def test_a_method_that_is_not_offered_has_no_effect(hounded, method):
    key = f"elsewhere-{uuid4().hex}"
    body = a_task(idempotency_key=key)
    assert at_once(hounded, a_request(method, "/v1/tasks", body)).status == 405
    assert ask(hounded, posted(body)).status == 202, "nothing had been made under its key"


def test_a_cursor_with_a_letter_changed_is_refused_within_a_second(hounded):
    for path in ("/v1/tasks?limit=1", "/v1/tasks?limit=1&type=echo"):
        cursor = hounded.get(path).body["next_cursor"]
        for at in (0, len(cursor) // 2, -6):
            other = "A" if cursor[at] != "A" else "B"
            changed = cursor[:at] + other + cursor[at:][1:]
            assert at_once(hounded, read(f"{path}&cursor={changed}")).status == 400
    assert at_once(hounded, read(f"/v1/tasks?status=dead&cursor={cursor}")).status == 400


def test_what_is_no_http_is_refused_within_a_second(hounded):
    for line, octets in MALFORMED.items():
        assert at_once(hounded, octets).status == 400, line


def test_a_good_request_is_taken_within_a_second(hounded):
    times = [a_task(run_at="2020-01-01T00:00:00Z"), a_task(delay_seconds=0)]
    values = [saying(nested(30)), saying(b"9" * 4_300), saying(b'"\\u00e9\\n"')]
    for body in (a_task(), *times, *values):
        reply = at_once(hounded, posted(body))
        assert reply.status == 202, reply


def test_first_answers_are_quick_too_and_how_quick_is_told(capsys):
    if len(FIRST_TRIES) < 2:
        pytest.skip("no line was tried")
    spans = quantiles(FIRST_TRIES, n=100)
    sentence = ", ".join(f"p{one} {spans[one - 1]:.3f} s" for one in (50, 90, 99))
    with capsys.disabled():
        sys.stdout.write(f"\nof {len(FIRST_TRIES)} first tries: {sentence}\n")
    assert spans[89] <= 1


@pytest.mark.parametrize("words", MEANINGFUL)
def test_letters_that_mean_something_elsewhere_come_back_as_they_are(client, words):
    key, text = f"{words} {uuid4().hex}", f"{words}\n\u202e\u200be\u0301"
    fields = {"idempotency_key": key, "metadata": {"words": text}, "payload": {"say": {text: text}}}
    reply = ask(client, posted(a_task(**fields)))
    assert reply.status == 202, reply
    task = client.task(reply.body["id"], wait=PATIENCE)
    assert (task["idempotency_key"], task["metadata"]) == (key, {"words": text})
    assert task["result"] == {"say": {text: text}}
    assert ask(client, posted(a_task(**fields))).body["id"] == task["id"]
    beside = ask(client, posted(a_task(**fields | {"idempotency_key": f"{key}."})))
    assert (beside.status, beside.body["id"] != task["id"]) == (202, True)


@pytest.mark.parametrize("letter", ["x", "é", "\U0001f600"])
@pytest.mark.parametrize("beyond", [-1, 0])
def test_a_payload_as_long_as_it_may_be_goes_all_the_way(client, letter, beyond):
    """Its result is too large to return inline."""
    reply = ask(client, posted(filled(letter, PAYLOAD_BYTES + beyond)))
    assert (reply.status, reply.body["payload_size"]) == (202, PAYLOAD_BYTES + beyond)
    task = client.task(reply.body["id"], wait=PATIENCE)
    assert (task["status"], task["result_ref"]["size"]) == ("succeeded", task["payload_size"])


def test_a_page_has_an_end_whatever_is_asked(client):
    reply = ask(client, read("/v1/tasks?limit=1000000000"))
    assert (reply.status, reply.body["field"]) == (422, "limit")


@pytest.mark.parametrize(
    "headers",
    [
        [("traceparent", "00-zz-zz-01")],
        [("X-Amzn-Trace-Id", "\x7e" * 200)],
        [("Cookie", "=;=;;\x80")],
        [("X-Forwarded-For", "10.0.0.1, nobody")],
        [("User-Agent", "")],
    ],
    ids=lambda headers: headers[0][0],
)
def test_headers_without_sense_do_no_harm(client, headers):
    assert ask(client, posted(a_task(), *headers)).status == 202


def test_who_leaves_before_the_answer_and_comes_again_gets_the_same_task(stack, client):
    key = uuid4().hex
    body = a_task(idempotency_key=key)
    for _ in range(5):
        leave_behind(client, posted(body))
    reply = [ask(client, posted(body)).body["id"] for _ in range(2)]
    assert reply[0] == reply[1]
    client.task(reply[0], wait=PATIENCE)
    expected = [("TaskSubmitted", 1), ("TaskSucceeded", 1)]
    eventually(
        lambda: history(stack, reply[0]) == expected, within=LONG, reason="one task, and one run"
    )


def test_ten_thousand_words_make_no_metric_of_their_own(client):
    words = [uuid4().hex for _ in range(10_000)]
    for at in range(0, len(words), 1_000):
        tasks = [{"type": word} for word in words[at : at + 1_000]]
        assert client.post("/v1/tasks/batch", {"tasks": tasks}).body["refused"] == 1_000
    for word in words[:10]:
        client.get(f"/v1/{word}")
        client.get(f"/v1/tasks?{word}=1")
    known = {entry["name"] for entry in client.get("/v1/types").body["types"]} | {"other"}
    _, samples = parse(client.get("/metrics").text)
    reply = {value for _, labels in samples for name, value in labels if name == "type"}
    assert reply <= known
    assert not {value for _, labels in samples for _, value in labels} & set(words)


def test_none_of_it_was_an_error_of_ours(stack, errors_before):
    assert "request failed" not in (stack.folder / "home/logs/Gateway.log").read_text()
    assert errors_of(stack.client) == errors_before
