"""One contract for all entry points: they accept, deduplicate and refuse the same requests."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from taskmill.core.task import keyed_id
from tests.acceptance.client import PATIENCE_SECONDS
from tests.acceptance.doors import TAKEN, Http, Inbox, Sql, request
from tests.waiting import eventually

DOORS = {"http": Http, "inbox": Inbox, "sql": Sql}
SETTLED = {"scheduled", "succeeded", "dead"}
OF_THE_MOMENT = {
    *("id", "idempotency_key", "generation", "created_at", "started_at", "finished_at"),
    *("wait_ms", "duration_ms"),
}


def in_days(days):
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(days=days)
    return at.isoformat().replace("+00:00", "Z")


TOMORROW, NEXT_YEAR = in_days(1), in_days(360)


@dataclass(frozen=True)
class Case:
    body: bytes
    header_key: str | None = None
    refusal: tuple | str = TAKEN


def refused(code, pointer, body=None, *, key=None, **fields):
    return Case(request(**fields) if body is None else body, key, (code, pointer))


def nested(levels):
    return b'{"type":"echo","payload":{"say":%b1%b}}' % (b"[" * levels, b"]" * levels)


GOOD = {
    "nothing but a type": {},
    "a payload": {"payload": {"say": ["é", 2**60, 0.5, True, None, {"": ""}]}},
    "another type": {
        "type": "email",
        "payload": {"to": ["a@b.example"], "subject": "same", "text": "here"},
    },
    "all that a task has": {
        "payload": {"say": 1},
        "max_attempts": 7,
        "timeout_seconds": 1.5,
        "retry": {"first_seconds": 0.5, "factor": 3, "cap_seconds": 60},
        "metadata": {"who": "me", "": "é"},
        "priority": "high",
        "fairness_key": "é, 7",
        "expires_at": TOMORROW,
    },
    "a priority that is a number": {"priority": 0},
    "one that dies": {"payload": {"discard": "never"}},
    "a delay": {"delay_seconds": 3600},
    "a time": {"run_at": TOMORROW},
    "a far time": {"run_at": NEXT_YEAR, "expires_at": in_days(370)},
    "a time that is past": {"run_at": "2020-01-01T00:00:00Z"},
}
PLACE = f"s3://elsewhere/payloads/echo/default/{'0' * 64}"
REF = {"url": PLACE, "size": 1, "sha256": "0" * 64}
FIELD, KEY = "invalid_request", "/idempotency_key"
BAD = {
    "no JSON": refused("bad_request", None, b"{"),
    "nothing": refused("bad_request", None, b""),
    "no UTF-8": refused("bad_request", None, b'{"type":"\xff"}'),
    "NaN": refused("bad_request", None, b'{"type":"echo","payload":{"say":NaN}}'),
    "a name twice": refused("bad_request", None, b'{"type":"echo","type":"echo"}'),
    "too deep": refused("bad_request", None, nested(33)),
    "a long integer": refused("bad_request", None, nested(0).replace(b"1", b"1" * 4_301)),
    "half a pair": refused("bad_request", None, b'{"type":"echo","payload":{"say":"\\ud800"}}'),
    "NUL": refused("bad_request", None, b'{"type":"echo","payload":{"say":"\\u0000"}}'),
    "no object": refused(FIELD, "", b"[]"),
    "no type": refused(FIELD, "/type", b"{}"),
    "an unknown field": refused(FIELD, "/a~1b~0c", **{"a/b~c": 1}),
    "an unknown type": refused("unknown_type", "/type", type="nobody"),
    "a later field": refused("not_supported_yet", "/cost", cost=3),
    "a bad payload": refused(
        "invalid_payload", "/payload/for_attempts", payload={"for_attempts": 0}
    ),
    "both payloads": refused("payload_conflict", "/payload_ref", payload={}, payload_ref=REF),
    "no such upload": refused("payload_missing", "/payload_ref", payload_ref=REF),
    "a large payload": refused("payload_too_large", "/payload", payload={"say": "x" * 262_144}),
    "a bad retry": refused(FIELD, "/retry/first_seconds", retry={"first_seconds": -1}),
    "an unknown retry": refused(FIELD, "/retry", retry={"often": 1}),
    "no attempts": refused(FIELD, "/max_attempts", max_attempts=0),
    "a wrong kind": refused(FIELD, "/max_attempts", max_attempts="2"),
    "no time": refused(FIELD, "/timeout_seconds", timeout_seconds=0.01),
    "too much time": refused(FIELD, "/timeout_seconds", timeout_seconds=800.0),
    "two times": refused(FIELD, "/delay_seconds", delay_seconds=1, run_at=TOMORROW),
    "a negative delay": refused(FIELD, "/delay_seconds", delay_seconds=-1),
    "no zone": refused(FIELD, "/run_at", run_at="2027-01-01T00:00:00"),
    "too far": refused(FIELD, "/run_at", run_at=in_days(401)),
    "over before it begins": refused(FIELD, "/expires_at", run_at=NEXT_YEAR, expires_at=TOMORROW),
    "over before its delay": refused(FIELD, "/expires_at", delay_seconds=9, expires_at=in_days(0)),
    "that with a key": refused(
        FIELD, "/expires_at", delay_seconds=9, expires_at=in_days(0), idempotency_key=f"{uuid4()}"
    ),
    "an empty key": refused(FIELD, KEY, idempotency_key=""),
    "a long key": refused(FIELD, KEY, idempotency_key="k" * 256),
    "a key with a letter": refused(FIELD, KEY, idempotency_key="é"),
    "two keys": refused(FIELD, KEY, key="a", idempotency_key="b"),
    "a comma in the header": refused(FIELD, KEY, key="a,b"),
    "an empty header": refused(FIELD, KEY, key=""),
    "many entries": refused(FIELD, "/metadata", metadata={str(n): "" for n in range(33)}),
    "much metadata": refused(FIELD, "/metadata", metadata={"who": "x" * 1_024}),
    "an unknown priority": refused(FIELD, "/priority", priority="urgent"),
    "a priority too high": refused(FIELD, "/priority", priority=4),
    "no fairness key": refused(FIELD, "/fairness_key", fairness_key=""),
    "a long fairness key": refused(FIELD, "/fairness_key", fairness_key="x" * 201),
    "a tab in a fairness key": refused(FIELD, "/fairness_key", fairness_key="a\tb"),
    "metadata that is no text": refused(FIELD, "/metadata", metadata={"who": 1}),
}  # fmt: skip - each case in a line

NO_WORDS_IN_SQL = {
    *("no JSON", "nothing", "no UTF-8", "NaN", "a name twice", "too deep", "a long integer"),
    *("half a pair", "NUL", "no object", "an unknown field", "a later field", "a wrong kind"),
    *("no zone", "two keys", "a comma in the header", "an empty header"),
}
"""The arguments of a function have names and types; a time of PostgreSQL always has its zone."""


def keyed(cases, word):
    """Add a separate key to each request."""
    return {
        name: Case(request(**fields, idempotency_key=f"{word} {name}"))
        for name, fields in cases.items()
    }


def id_of(name, word):
    return keyed_id("default", GOOD[name].get("type", "echo"), f"{word} {name}")


def shown(client, name, word):
    """Return what readers see of a task, without its times."""
    target = f"/v1/tasks/{id_of(name, word)}?include=payload"
    eventually(
        lambda: is_settled(client.get(target)), within=PATIENCE_SECONDS, reason=f"{name} is settled"
    )
    moment = OF_THE_MOMENT | ({"run_at"} if "delay_seconds" in GOOD[name] else set())
    seen = client.get(target).body
    result = {field: value for field, value in seen.items() if field not in moment}
    result.get("result", {}).pop("message_id", None)
    return result


def is_settled(answer):
    return answer.status == 200 and answer.body["status"] in SETTLED and "payload" in answer.body


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_the_same_with_the_same_words(stack, door):
    unsaid = NO_WORDS_IN_SQL if door == "sql" else set()
    cases = {name: case for name, case in BAD.items() if name not in unsaid}
    assert DOORS[door](stack).bring(cases) == {name: case.refusal for name, case in cases.items()}


def test_the_same_request_is_the_same_task_at_every_door(stack):
    result, words = {}, {name: f"{name} {uuid4()}" for name in DOORS}
    for door, word in words.items():
        came_to = DOORS[door](stack).bring(keyed(GOOD, word))
        assert came_to == dict.fromkeys(GOOD, TAKEN), door
    for door, word in words.items():
        result[door] = {name: shown(stack.client, name, word) for name in GOOD}
    for door in DOORS:
        assert result[door] == result["http"], door


def test_a_key_that_was_used_at_one_door_is_used_at_all(stack):
    """The same request replays everywhere, and another one is refused everywhere."""
    reused = ("idempotency_key_reused", "/idempotency_key")
    others = {name: fields | {"metadata": {"other": "yes"}} for name, fields in GOOD.items()}
    doors = {name: door(stack) for name, door in DOORS.items()}
    for first, door in doors.items():
        word = f"{first} {uuid4()}"
        assert door.bring(keyed(GOOD, word)) == dict.fromkeys(GOOD, TAKEN)
        for name, second in doors.items():
            assert second.bring(keyed(GOOD, word)) == dict.fromkeys(GOOD, TAKEN), (first, name)
            assert second.bring(keyed(others, word)) == dict.fromkeys(GOOD, reused), (first, name)
