"""Each field of a submission is checked, and a refusal names the field."""

import json

import msgspec
import pytest
from msgspec.structs import replace

from taskmill.core import codec
from taskmill.core.refusal import Refusal
from taskmill.core.task import PRIORITIES, PRIORITY_NAMES, Millis, Priority, Submission
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.submission.read import read_submission
from taskmill.submission.request import NOT_YET, PAYLOAD_BYTES
from taskmill.submission.submission import as_envelope
from tests.builders import NOW

CATALOGUE = AssembledCatalogue(
    json.dumps(
        [
            {
                "name": "mail",
                "title": "Sends a letter.",
                "schema": {
                    "type": "object",
                    "properties": {
                        "to": {"type": "array", "items": {"type": "string", "maxLength": 5}},
                        "from": {"type": "object", "properties": {"name": {"type": "string"}}},
                        "a/b~c": {"type": "integer"},
                        "count": {"type": "integer", "maximum": 10},
                        "text": {},
                    },
                    "required": [],
                    "additionalProperties": False,
                },
                "defaults": {
                    "max_attempts": 7,
                    "timeout_seconds": 12.5,
                    "retry": {"first_seconds": 9, "factor": 3, "cap_seconds": 60},
                },
                "longest_timeout_seconds": 60.0,
                "partitions": 6,
            }
        ]
    ).encode()
)


def read(header_key=None, **fields):
    return read_submission({"type": "mail"} | fields, header_key, CATALOGUE, now=NOW)


def pointed(found):
    """Return the machine-readable part of a refusal."""
    assert isinstance(found, Refusal), found
    return found.kind, found.code, found.pointer


def test_a_type_alone_is_a_submission_with_the_defaults_of_the_type():
    found = read()
    assert isinstance(found, Submission)
    assert bytes(found.payload) == b"{}"
    assert (found.max_attempts, found.timeout_seconds) == (7, 12.5)
    assert (found.idempotency_key, found.metadata) == (None, {})


def test_every_field_is_taken_as_it_is_given():
    found = read(
        payload={"text": "é"},
        idempotency_key="order 17",
        max_attempts=100,
        timeout_seconds=60,
        metadata={"who": "me"},
    )
    assert isinstance(found, Submission)
    assert bytes(found.payload) == '{"text":"é"}'.encode()
    assert (found.max_attempts, found.timeout_seconds) == (100, 60.0)
    assert (found.idempotency_key, found.metadata) == ("order 17", {"who": "me"})


@pytest.mark.parametrize("given", [None, [], "x", 7, True, [{"type": "mail"}]])
def test_what_is_no_object_is_no_task(given):
    found = read_submission(given, None, CATALOGUE, now=NOW)
    assert pointed(found) == ("invalid", "invalid_request", "")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"type": ""}, "/type"),
        ({"type": 7}, "/type"),
        ({"type": None}, "/type"),
        ({"type": "x" * 129}, "/type"),
        ({"idempotency_key": None}, "/idempotency_key"),
        ({"idempotency_key": 10**4000}, "/idempotency_key"),
        ({"max_attempts": 0}, "/max_attempts"),
        ({"max_attempts": -1}, "/max_attempts"),
        ({"max_attempts": 101}, "/max_attempts"),
        ({"max_attempts": 10**9}, "/max_attempts"),
        ({"max_attempts": 10**4000}, "/max_attempts"),
        ({"max_attempts": 2.5}, "/max_attempts"),
        ({"max_attempts": "3"}, "/max_attempts"),
        ({"max_attempts": True}, "/max_attempts"),
        ({"max_attempts": None}, "/max_attempts"),
        ({"timeout_seconds": 0}, "/timeout_seconds"),
        ({"timeout_seconds": 0.099}, "/timeout_seconds"),
        ({"timeout_seconds": -1}, "/timeout_seconds"),
        ({"timeout_seconds": 60.001}, "/timeout_seconds"),
        ({"timeout_seconds": 801}, "/timeout_seconds"),
        ({"timeout_seconds": 1e308}, "/timeout_seconds"),
        ({"timeout_seconds": 10**4000}, "/timeout_seconds"),
        ({"timeout_seconds": "1"}, "/timeout_seconds"),
        ({"metadata": None}, "/metadata"),
        ({"metadata": []}, "/metadata"),
        ({"metadata": {"a": 1}}, "/metadata"),
        ({"metadata": {"a": {"b": "c"}}}, "/metadata"),
        ({"metadata": {str(number): "" for number in range(33)}}, "/metadata"),
        ({"metadata": {"k": "x" * 1_024}}, "/metadata"),
        ({"metadata": {"k" * 1_025: ""}}, "/metadata"),
        ({"metadata": {"": "é" * 513}}, "/metadata"),
        ({"priority": "urgent"}, "/priority"),
        ({"priority": "High"}, "/priority"),
        ({"priority": "3"}, "/priority"),
        ({"priority": ""}, "/priority"),
        ({"priority": 4}, "/priority"),
        ({"priority": -1}, "/priority"),
        ({"priority": 1.5}, "/priority"),
        ({"priority": True}, "/priority"),
        ({"priority": None}, "/priority"),
        ({"fairness_key": ""}, "/fairness_key"),
        ({"fairness_key": "x" * 201}, "/fairness_key"),
        ({"fairness_key": "a\tb"}, "/fairness_key"),
        ({"fairness_key": "a\n"}, "/fairness_key"),
        ({"fairness_key": "\x7f"}, "/fairness_key"),
        ({"fairness_key": "\x9f"}, "/fairness_key"),
        ({"fairness_key": 7}, "/fairness_key"),
        ({"fairness_key": None}, "/fairness_key"),
        ({"index": 1}, "/index"),
        ({"order_ms": 1}, "/order_ms"),
        ({"status": "succeeded"}, "/status"),
        ({"tenant_id": "other"}, "/tenant_id"),
        ({"tenant": "other"}, "/tenant"),
        ({"attempts": 9}, "/attempts"),
        ({"token": 1}, "/token"),
        ({"": 1}, "/"),
        ({"a/b~c": 1}, "/a~1b~0c"),
        ({"x` - at `$.type": 1}, "/x` - at `$.type"),
    ],
    ids=lambda case: repr(case)[:40],
)
def test_a_field_against_its_rule_is_named(fields, field):
    assert pointed(read(**fields)) == ("invalid", "invalid_request", field)


def test_a_time_out_beyond_its_type_s_limit_names_the_setting():
    found = read(timeout_seconds=60.5)
    assert isinstance(found, Refusal)
    assert found.detail == (
        "timeout_seconds is 60.5; the limit of 'mail' is 60: ask for less, or raise"
        " LongestTimeout in functions/workers/mail/function.yaml"
    )


def test_a_missing_type_is_named():
    found = read_submission({"payload": {}}, None, CATALOGUE, now=NOW)
    assert pointed(found) == ("invalid", "invalid_request", "/type")


@pytest.mark.parametrize("name", ["e-mail", "Mail", "mail ", "../mail", "m\u0430il", "*", "{}"])
def test_a_type_that_nobody_takes_is_refused_with_the_ones_that_are_deployed(name):
    found = read(type=name)
    assert pointed(found) == ("invalid", "unknown_type", "/type")
    assert found.detail.endswith("the deployed types are: mail")


@pytest.mark.parametrize("name", NOT_YET)
@pytest.mark.parametrize("value", [None, 1, "high"])
def test_a_field_that_has_its_own_issue_is_refused_until_then(name, value):
    assert pointed(read(**{name: value})) == ("invalid", "not_supported_yet", f"/{name}")


@pytest.mark.parametrize(
    ("max_attempts", "timeout_seconds"), [(1, 0.1), (100, 60), (7, 60.0), (2, 1)]
)
def test_the_ends_of_a_range_belong_to_it(max_attempts, timeout_seconds):
    found = read(max_attempts=max_attempts, timeout_seconds=timeout_seconds)
    assert isinstance(found, Submission)
    assert (found.max_attempts, found.timeout_seconds) == (max_attempts, timeout_seconds)


@pytest.mark.parametrize(
    ("retry", "policy"),
    [
        ({}, (9, 3, 60)),
        ({"first_seconds": 0}, (0, 3, 60)),
        ({"factor": 1, "cap_seconds": 86_400}, (9, 1, 86_400)),
        ({"first_seconds": 86_400, "factor": 100, "cap_seconds": 0.5}, (86_400, 100, 0.5)),
    ],
)
def test_what_a_task_says_of_its_retries_goes_over_what_its_type_says(retry, policy):
    found = read(retry=retry)
    assert isinstance(found, Submission)
    answer = found.retry
    assert (answer.first_seconds, answer.factor, answer.cap_seconds) == policy


@pytest.mark.parametrize(
    ("retry", "field"),
    [
        (None, "/retry"),
        ([], "/retry"),
        ({"jitter": 1}, "/retry"),
        ({"factor": 0.9}, "/retry/factor"),
        ({"factor": 101}, "/retry/factor"),
        ({"first_seconds": -1}, "/retry/first_seconds"),
        ({"first_seconds": 86_401}, "/retry/first_seconds"),
        ({"cap_seconds": "1"}, "/retry/cap_seconds"),
        ({"cap_seconds": True}, "/retry/cap_seconds"),
    ],
)
def test_retries_beyond_their_bounds_are_refused(retry, field):
    assert pointed(read(retry=retry)) == ("invalid", "invalid_request", field)


@pytest.mark.parametrize(
    "metadata",
    [
        {str(number): "" for number in range(32)},
        {"k": "x" * 1_023},
        {"": "é" * 512},
        {"'; DROP TABLE tasks; --": '{{7*7}} ${x} %s " \\ </script> *'},
    ],
    ids=["32 entries", "1 KB", "1 KB of two bytes each", "metacharacters"],
)
def test_metadata_within_its_limits_is_taken_byte_for_byte(metadata):
    found = read(metadata=metadata)
    assert isinstance(found, Submission)
    assert found.metadata == metadata


@pytest.mark.parametrize(
    ("value", "priority"),
    [
        ("critical", Priority.CRITICAL),
        ("high", Priority.HIGH),
        ("normal", Priority.NORMAL),
        ("low", Priority.LOW),
        (3, Priority.CRITICAL),
        (2, Priority.HIGH),
        (1, Priority.NORMAL),
        (0, Priority.LOW),
    ],
)
def test_a_priority_has_a_name_and_a_number(value, priority):
    found = read(priority=value)
    assert isinstance(found, Submission)
    assert found.priority is priority
    assert PRIORITIES[PRIORITY_NAMES[priority]] is priority


def test_the_type_has_a_usual_priority_and_a_request_another():
    (entry,) = CATALOGUE.entries()
    usual = replace(entry, defaults=replace(entry.defaults, priority="low"))
    catalogue = AssembledCatalogue(msgspec.json.encode([usual]))
    for fields, priority in (({}, Priority.LOW), ({"priority": "normal"}, Priority.NORMAL)):
        found = read_submission({"type": "mail"} | fields, None, catalogue, now=NOW)
        assert found.priority is priority


@pytest.mark.parametrize(
    "key", ["a", "x" * 200, "é" * 200, "a|b {c}:*", "\u2028", "\U0001f600" * 200]
)
def test_a_fairness_key_is_taken_as_it_came(key):
    found = read(fairness_key=key)
    assert isinstance(found, Submission)
    assert found.fairness_key == key


def test_another_priority_is_another_request():
    prints = {read(**one).fingerprint for one in ({}, {"priority": "normal"}, {"priority": 1})}
    assert len(prints) == 3, "as it was sent, whatever the type's usual one is by then"


def test_the_size_of_metadata_is_that_of_its_json():
    assert pointed(read(metadata={"": "\x01" * 171})) == ("invalid", "invalid_request", "/metadata")
    assert isinstance(read(metadata={"": "\x01" * 170}), Submission)


@pytest.mark.parametrize(
    ("body_key", "header_key", "key"),
    [
        (None, None, None),
        ("k", None, "k"),
        (None, "k", "k"),
        ("k", "k", "k"),
        ("x" * 255, None, "x" * 255),
        (None, " ~", " ~"),
        ("{a:b}*\"'", None, "{a:b}*\"'"),
    ],
)
def test_a_key_comes_in_the_body_or_in_the_header(body_key, header_key, key):
    fields = {} if body_key is None else {"idempotency_key": body_key}
    found = read(header_key, **fields)
    assert isinstance(found, Submission)
    assert found.idempotency_key == key


@pytest.mark.parametrize(
    "key", ["", "x" * 256, "x" * 10_000, "é", "a\nb", "a\tb", "\x7f", "k\u200b"]
)
def test_a_key_that_is_not_short_printable_ascii_is_refused_from_both_places(key):
    refusal = ("invalid", "invalid_request", "/idempotency_key")
    assert pointed(read(idempotency_key=key)) == refusal
    assert pointed(read(key)) == refusal


@pytest.mark.parametrize(("body_key", "header_key"), [("a", "b"), ("a", ""), ("", "a"), ("a", "A")])
def test_two_keys_that_differ_are_refused(body_key, header_key):
    found = read(header_key, idempotency_key=body_key)
    assert pointed(found) == ("invalid", "invalid_request", "/idempotency_key")


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        (None, "/payload"),
        ([], "/payload"),
        ("{}", "/payload"),
        ({"other": 1}, "/payload"),
        ({"to": "me"}, "/payload/to"),
        ({"to": ["me", 7]}, "/payload/to/1"),
        ({"to": ["me", "longer"]}, "/payload/to/1"),
        ({"from": {"name": None}}, "/payload/from/name"),
        ({"a/b~c": "x"}, "/payload/a~1b~0c"),
        ({"count": 1.5}, "/payload/count"),
        ({"count": 10**4000}, "/payload/count"),
    ],
    ids=lambda case: repr(case)[:40],
)
def test_a_payload_that_does_not_fit_is_refused_with_the_place(payload, field):
    assert pointed(read(payload=payload)) == ("invalid", "invalid_payload", field)


@pytest.mark.parametrize("letter", ["x", "é", "漢", "😀", "\x01", '"'])
@pytest.mark.parametrize("beyond", [-1, 0, 1])
def test_the_limit_of_a_payload_counts_its_bytes(letter, beyond):
    width = len(msgspec.json.encode(letter)) - 2
    room = PAYLOAD_BYTES + beyond - len(b'{"text":""}')
    text = letter * (room // width) + "x" * (room % width)
    found = read(payload={"text": text})
    if beyond > 0:
        assert pointed(found) == ("too_large", "payload_too_large", "/payload")
        assert "262145 bytes; the limit is 262144" in found.detail
    else:
        assert isinstance(found, Submission)
        assert len(bytes(found.payload)) == PAYLOAD_BYTES + beyond


def test_the_largest_task_fits_a_record_of_the_log():
    found = read(
        payload={"text": "x" * (PAYLOAD_BYTES - len(b'{"text":""}'))},
        idempotency_key='"' * 255,
        metadata={str(number): "" for number in range(32)},
    )
    assert isinstance(found, Submission)
    envelope = as_envelope(found, now=Millis(0), entropy=bytes(16))
    (parcel,) = codec.batches_of_tasks([envelope])
    assert len(parcel) < codec.ENVELOPE_BATCH_BYTES


@pytest.mark.parametrize("number", [2**53 + 1, 2**64, -(2**63), 10**4000, 0.1, 1e308, 5e-324])
def test_a_number_in_a_payload_keeps_its_digits(number):
    found = read(payload={"text": number})
    assert isinstance(found, Submission)
    assert json.loads(bytes(found.payload)) == {"text": number}


@pytest.mark.parametrize(
    "same",
    [
        {"payload": {"text": 1, "count": 2}},
        {"payload": {"count": 2, "text": 1}},
        {"payload": {"text": 1, "count": 2}, "idempotency_key": "k"},
    ],
)
def test_a_fingerprint_heeds_neither_order_nor_key(same):
    first = read(payload={"text": 1, "count": 2})
    assert isinstance(first, Submission)
    assert read(**same).fingerprint == first.fingerprint


@pytest.mark.parametrize(
    "other",
    [{}, {"payload": {"text": 2}}, {"payload": {"text": 1}, "max_attempts": 7}],
    ids=["no payload", "other payload", "a default that is spelt out"],
)
def test_another_request_has_another_fingerprint(other):
    first = read(payload={"text": 1})
    assert isinstance(first, Submission)
    assert read(**other).fingerprint != first.fingerprint


@pytest.mark.parametrize(
    "fields",
    [
        {"x" * 1_000_000: 1},
        {"payload": {"x" * 250_000: 1}},
        {"payload": {"to": ["\u00ad" * 80_000]}},
        {"type": "mail", "metadata": {"x" * 1_000_000: 1}},
    ],
    ids=["field", "member", "value", "metadata"],
)
def test_a_refusal_is_short_whatever_it_quotes(fields):
    found = read(**fields)
    assert isinstance(found, Refusal)
    assert len(msgspec.json.encode(found)) < 10_000
