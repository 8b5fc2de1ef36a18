"""Each route from the platform's event to the response, with in-memory stores."""

import json
import logging
from base64 import b64encode
from datetime import timedelta

import pytest

from functions.dispatcher.handler import lambda_handler as dispatcher
from functions.gateway.submitting import BATCH_TASKS
from taskmill import __version__
from taskmill.core import topics
from taskmill.core.lifetimes import Lifetimes
from taskmill.core.task import LARGEST_INDEX
from taskmill.stores.memory.recovery import MemoryColdShards
from tests.unit.gateway.calls import JSON, NOBODY, answer_to, batch, call, get, submit
from tests.unit.stage import NOW, Stage, an_http_event, do_job
from tests.unit.world import Instead


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def test_a_submission_is_accepted_and_stands_in_the_log(stage):
    answer = submit(stage, payload={"say": "é"}, metadata={"who": "me"})
    (task,) = stage.log.tasks(topics.PENDING)
    assert answer.status == 202
    assert answer.headers["Location"] == f"/v1/tasks/{task.id}"
    assert bytes(task.payload) == '{"say":"é"}'.encode()
    assert answer.body == {
        "id": task.id,
        "type": "echo",
        "tenant": "default",
        "status": "queued",
        "attempt": 1,
        "max_attempts": 4,
        "losses": 0,
        "generation": NOW,
        "created_at": "2026-11-06T21:20:00.000Z",
        "metadata": {"who": "me"},
        "priority": "normal",
        "payload_size": 12,
    }


def test_metacharacters_come_back_byte_for_byte(stage):
    nasty = "'; DROP TABLE tasks; -- {{7*7}} ${x} %s \\ \" </script>\r\n\x01\x7f é\u0301\u202e😀"
    key = "{tm}:*'\"\\ %n"
    answer = submit(stage, payload={"say": nasty}, metadata={nasty: nasty}, idempotency_key=key)
    assert answer.status == 202
    stage.record()
    read = get(stage, f"/v1/tasks/{answer.body['id']}", include="payload")
    assert read.body["metadata"] == {nasty: nasty}
    assert read.body["payload"] == {"say": nasty}
    assert read.body["idempotency_key"] == key


def test_the_same_request_under_a_key_is_a_replay_of_one_task(stage):
    first = submit(stage, headers=JSON | {"Idempotency-Key": "k"})
    second = submit(stage, headers=JSON | {"Idempotency-Key": "k"})
    third = submit(stage, idempotency_key="k")
    assert (first.status, second.status, third.status) == (202, 200, 200)
    assert second.body == first.body | {"replayed": True} == third.body
    assert "Location" not in second.headers
    assert len(stage.log.tasks(topics.PENDING)) == 1


def test_another_request_under_a_used_key_is_refused_with_the_task_of_the_key(stage):
    first = submit(stage, idempotency_key="k")
    second = submit(stage, idempotency_key="k", payload={"say": 1})
    assert second.kind == (422, "idempotency_key_reused", "/idempotency_key")
    assert first.body["id"] in second.body["detail"]


def test_without_the_hot_store_a_submission_is_taken_and_says_so(stage):
    stage.hot.forget()
    answer = submit(stage, idempotency_key="k")
    assert (answer.status, answer.body["dedupe"]) == (202, "deferred")
    (task,) = stage.log.tasks(topics.PENDING)
    assert task.deferred


def test_without_the_hot_store_the_ledger_knows_the_keys(stage):
    first = submit(stage, idempotency_key="k")
    stage.record()
    stage.hot.forget()
    same = submit(stage, idempotency_key="k")
    other = submit(stage, idempotency_key="k", payload={"say": 1})
    assert (same.status, same.body["id"], same.body["replayed"]) == (200, first.body["id"], True)
    assert other.kind == (422, "idempotency_key_reused", "/idempotency_key")


def test_without_the_log_and_the_outbox_an_admitted_submission_may_have_been_taken(stage):
    stage.log.is_away = stage.outbox.is_away = True
    answer = submit(stage, idempotency_key="k")
    assert answer.kind == (503, "unavailable", None)
    assert (
        answer.body["detail"] == "the request may have been accepted; repeat it with the same key"
    )


def test_without_any_store_a_submission_is_not_confirmed(stage):
    stage.log.is_away = stage.outbox.is_away = True
    stage.hot.forget()
    answer = submit(stage, idempotency_key="k")
    assert answer.kind == (503, "unavailable", None)
    assert (
        answer.body["detail"] == "the request may have been accepted; repeat it with the same key"
    )


def test_without_the_log_a_submission_is_accepted_as_ever_and_counted_as_spilled(stage):
    stage.log.is_away = True
    answer = submit(stage, idempotency_key="k")
    assert (answer.status, answer.body.get("dedupe")) == (202, None)
    assert [kept.name[0] for kept in stage.outbox.kept] == [answer.body["id"]]


def test_a_submission_that_nothing_can_take_says_that_it_was_not_taken(stage):
    stage.log.is_known_away = stage.outbox.is_away = True
    answer = submit(stage)
    assert answer.kind == (503, "unavailable", None)
    assert answer.body["detail"] == (
        "neither Kafka nor the outbox is available; nothing was accepted"
    )
    assert not stage.hot.records


def test_when_the_log_is_back_a_repeated_submission_is_one_task(stage):
    stage.log.is_away = stage.outbox.is_away = True
    submit(stage, idempotency_key="k")
    stage.log.is_away = False
    answer = submit(stage, idempotency_key="k")
    assert answer.status == 200
    assert {task.id for task in stage.log.tasks(topics.PENDING)} == {answer.body["id"]}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": ""},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/jsonp"},
        {"Content-Type": "text/json, application/json"},
        JSON | {"Content-Encoding": "gzip"},
        JSON | {"Content-Encoding": "br"},
        JSON | {"Content-Encoding": "identity, gzip"},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/tasks/batch"])
def test_what_is_not_said_to_be_plain_json_is_refused(stage, path, headers):
    answer = call(stage, "POST", path, headers=headers, body='{"type": "echo"}')
    assert answer.kind == (415, "unsupported_media_type", None)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "Application/JSON; charset=UTF-8"},
        {"Content-Type": " application/json "},
        JSON | {"Content-Encoding": "Identity"},
    ],
    ids=str,
)
def test_plain_json_may_be_said_in_other_letters(stage, headers):
    assert submit(stage, headers=headers).status == 202


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{} {}",
        b"\xef\xbb\xbf{}",
        '{"type": "echo"}'.encode("utf-16"),
        b'{"type": "echo", "payload": {"say": "\xff\xfe"}}',
        b'{"type": "echo", "type": "echo"}',
        b'{"type": "echo", "payload": {"say": NaN}}',
        b'{"type": "echo", "payload": {"say": 1e400}}',
        b'{"type": "echo", "payload": {"say": %b}}' % (b"9" * 4_301),
        b'{"type": "echo", "payload": {"say": "\\ud800"}}',
        b'{"type": "echo", "payload": {"say": "\\u0000"}}',
        b'{"type": "echo", "payload": %b}' % (b"[" * 100_000 + b"]" * 100_000),
        bytes(1_000_000),
        b'{"%b": 1, "%b": 1}' % ((b"\xc2\xad" * 1_000_000,) * 2),
    ],
    ids=lambda case: repr(case)[:50],
)
@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/tasks/batch"])
def test_what_is_not_json_is_a_short_400(stage, path, body):
    encoded = b64encode(body).decode()
    answer = call(stage, "POST", path, headers=JSON, body=encoded, is_base64=True)
    assert answer.kind == (400, "bad_request", None)
    assert len(answer.body["detail"].encode()) <= 1_000
    assert stage.log.tasks(topics.PENDING) == []


def test_no_body_at_all_is_a_400(stage):
    assert call(stage, "POST", "/v1/tasks", headers=JSON).kind == (400, "bad_request", None)


@pytest.mark.parametrize("body", ["null", "[]", "7", '"echo"', '[{"type": "echo"}]'])
def test_json_that_is_no_task_is_a_422(stage, body):
    answer = call(stage, "POST", "/v1/tasks", headers=JSON, body=body)
    assert answer.kind == (422, "invalid_request", "")


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"type": "nobody"}, (422, "unknown_type", "/type")),
        ({"payload": {"sleep_seconds": -1}}, (422, "invalid_payload", "/payload/sleep_seconds")),
        ({"payload": {"say": "x" * 262_144}}, (413, "payload_too_large", "/payload")),
        ({"run_at": "9999-01-01T00:00:00Z"}, (422, "invalid_request", "/run_at")),
        ({"delay_seconds": 1e308}, (422, "invalid_request", "/delay_seconds")),
        ({"timeout_seconds": 301}, (422, "invalid_request", "/timeout_seconds")),
        ({"tenant": "other"}, (422, "invalid_request", "/tenant")),
    ],
    ids=lambda case: str(case)[:40],
)
def test_a_field_against_its_rule_changes_nothing_and_is_named(stage, fields, kind):
    assert submit(stage, **fields).kind == kind
    assert (stage.log.tasks(topics.PENDING), stage.hot.records) == ([], {})
    assert submit(stage).status == 202


@pytest.mark.parametrize("key", ["", "x" * 256, "é", "k\u200b", "a,b", "a,a", ","])
def test_a_key_in_the_header_keeps_its_rule(stage, key):
    answer = submit(stage, headers=JSON | {"Idempotency-Key": key})
    assert answer.kind == (422, "invalid_request", "/idempotency_key")


def test_a_key_with_a_comma_may_stand_in_the_body(stage):
    answer = submit(stage, idempotency_key="a,b")
    assert (answer.status, answer.body["idempotency_key"]) == (202, "a,b")


def test_each_task_of_a_batch_knows_its_place_in_it(stage):
    batch(stage, {"type": "echo"}, {"type": "nobody"}, {"type": "echo"}, {"type": "echo"})
    submit(stage)
    assert [task.index for task in stage.log.tasks(topics.PENDING)] == [0, 2, 3, 0]
    assert LARGEST_INDEX == BATCH_TASKS - 1


def test_priority_and_fairness_key_are_shown_and_listed(stage):
    task = submit(stage, priority=3, fairness_key="customer 7").body
    assert (task["priority"], task["fairness_key"]) == ("critical", "customer 7")
    assert get(stage, f"/v1/tasks/{task['id']}").body == task
    stage.record()
    (listed,) = get(stage, "/v1/tasks").body["tasks"]
    assert (listed["priority"], listed["fairness_key"]) == ("critical", "customer 7")


def test_lists_hide_a_fairness_key_that_looks_like_a_secret(stage):
    submit(stage, fairness_key="password=hunter22hunter22")
    stage.record()
    (listed,) = get(stage, "/v1/tasks").body["tasks"]
    assert "hunter22" not in listed["fairness_key"]


def test_a_batch_with_a_key_of_its_own_is_refused_since_nobody_would_heed_it(stage):
    body = json.dumps({"tasks": [{"type": "echo"}]})
    headers = JSON | {"Idempotency-Key": "k"}
    answer = call(stage, "POST", "/v1/tasks/batch", headers=headers, body=body)
    assert answer.kind == (422, "invalid_request", "/tasks")
    assert stage.log.tasks(topics.PENDING) == []


def test_a_batch_answers_each_item_and_a_bad_one_harms_no_other(stage):
    answer = batch(
        stage,
        {"type": "echo"},
        {"type": "nobody"},
        {"type": "echo", "idempotency_key": "k"},
        {"type": "echo", "idempotency_key": "k"},
        {"type": "echo", "idempotency_key": "k", "payload": {"say": 1}},
        {"type": "echo", "payload": {"retry": 7}},
        "echo",
        {"type": "echo", "payload": {"say": "x" * 262_144}},
    )
    results = answer.body["results"]
    assert answer.status == 200
    assert [one["index"] for one in results] == list(range(8))
    assert [one["status"] for one in results] == [202, 422, 202, 200, 422, 422, 422, 413]
    assert (answer.body["accepted"], answer.body["refused"]) == (3, 5)
    assert [one["error"]["type"] for one in results if "error" in one] == [
        "unknown_type",
        "idempotency_key_reused",
        "invalid_payload",
        "invalid_request",
        "payload_too_large",
    ]
    assert results[5]["error"]["field"] == "/payload/retry"
    accepted = {one["task"]["id"] for one in results if "task" in one}
    assert {task.id for task in stage.log.tasks(topics.PENDING)} == accepted
    assert len(accepted) == 2


def test_a_batch_without_the_log_and_the_outbox_says_503_of_each_item_that_was_good(stage):
    stage.log.is_away = stage.outbox.is_away = True
    answer = batch(stage, {"type": "echo"}, {"type": "nobody"}, {"type": "echo"})
    assert answer.status == 200
    assert [one["status"] for one in answer.body["results"]] == [503, 422, 503]
    assert (answer.body["accepted"], answer.body["refused"]) == (0, 3)


def test_a_batch_of_bad_items_alone_is_answered(stage):
    answer = batch(stage, {}, None)
    assert [one["status"] for one in answer.body["results"]] == [422, 422]


def test_a_batch_of_the_largest_number_is_taken(stage):
    answer = batch(stage, *[{"type": "echo"}] * 1_000)
    assert (answer.body["accepted"], answer.body["refused"]) == (1_000, 0)
    assert len(stage.log.tasks(topics.PENDING)) == 1_000


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        "[]",
        "null",
        '{"tasks": null}',
        '{"tasks": {}}',
        '{"tasks": []}',
        '{"tasks": [{"type": "echo"}], "more": 1}',
        json.dumps({"tasks": [{"type": "echo"}] * 1_001}),
    ],
    ids=lambda case: case[:45],
)
def test_what_is_no_batch_is_refused_whole(stage, body):
    answer = call(stage, "POST", "/v1/tasks/batch", headers=JSON, body=body)
    assert answer.kind == (422, "invalid_request", "/tasks")
    assert stage.log.tasks(topics.PENDING) == []


@pytest.mark.parametrize(("beyond", "status"), [(-1, 200), (0, 200), (1, 413)])
@pytest.mark.parametrize("letter", ["x", "é"])
def test_the_limit_of_a_batch_counts_its_bytes(stage, letter, beyond, status):
    limit = 5 * 1024 * 1024
    head, tail = b'{"tasks": [{"type": "echo", "payload": {"say": "', b'"}}]}'
    room = limit + beyond - len(head) - len(tail)
    width = len(letter.encode())
    body = head + letter.encode() * (room // width) + b"x" * (room % width) + tail
    assert len(body) == limit + beyond
    answer = call(stage, "POST", "/v1/tasks/batch", headers=JSON, body=body.decode())
    assert answer.status == status


def test_a_batch_of_the_most_awkward_texts_has_an_answer_that_the_platform_carries(stage):
    metadata = {"\x01" * 170: ""}
    answer = batch(
        stage,
        *[
            {"type": "echo", "metadata": metadata, "idempotency_key": '"' * 251 + f"{number:04}"}
            for number in range(1_000)
        ],
    )
    assert answer.body["accepted"] == 1_000
    assert len(json.dumps(json.dumps(answer.body))) < 6_000_000


def test_a_list_shows_the_newest_first_and_its_cursor_leads_on(stage):
    ids = []
    for number in range(5):
        stage.pass_time(milliseconds=1)
        ids.append(submit(stage, metadata={"number": str(number)}).body["id"])
    stage.record()
    seen, cursor = [], {}
    for _ in range(3):
        page = get(stage, "/v1/tasks", limit="2", type="echo", **cursor)
        assert page.status == 200
        assert page.body["as_of"] == "2026-11-06T21:20:00.005Z"
        seen += [task["id"] for task in page.body["tasks"]]
        cursor = {"cursor": page.body["next_cursor"]}
    assert seen == ids[::-1]
    assert cursor == {"cursor": None}


def test_a_list_shows_no_key_that_looks_like_a_secret(stage):
    for key in ("token=4f1d", "order-17"):
        task = submit(stage, idempotency_key=key).body
        assert get(stage, f"/v1/tasks/{task['id']}").body["idempotency_key"] == key
    stage.record()
    listed = get(stage, "/v1/tasks").body["tasks"]
    assert {task["idempotency_key"] for task in listed} == {"token=***", "order-17"}


def test_a_list_keeps_to_its_filter(stage):
    wanted = submit(stage, metadata={"who": "me"}).body["id"]
    submit(stage, metadata={"who": "you"})
    stage.record()
    for query in ({"metadata.who": "me"}, {"metadata.who": "me", "status": "queued"}):
        assert [task["id"] for task in get(stage, "/v1/tasks", **query).body["tasks"]] == [wanted]
    for query in ({"metadata.who": "'"}, {"type": "nobody"}, {"status": "dead"}):
        assert get(stage, "/v1/tasks", **query).body["tasks"] == []


def test_a_list_of_an_empty_ledger_is_empty(stage):
    as_of = "2026-11-06T21:20:00.000Z"
    assert get(stage, "/v1/tasks").body == {"tasks": [], "next_cursor": None, "as_of": as_of}


def test_a_list_is_as_of_now_only_when_the_ledger_has_reached_the_end_of_the_log(stage):
    submit(stage)
    assert get(stage, "/v1/tasks", wait="0").body["as_of"] is None
    stage.record()
    stage.wait(timedelta(hours=1))
    assert get(stage, "/v1/tasks", wait="0").body["as_of"] == "2026-11-06T22:20:00.000Z"


def test_a_list_is_as_of_no_later_than_what_waits_in_the_outbox(stage):
    accepted = "2026-11-06T21:20:00.000Z"
    stage.log.is_away = True
    submit(stage)
    stage.log.is_away = False
    stage.clock.move(timedelta(hours=1))
    assert get(stage, "/v1/tasks", wait="0").body["as_of"] == accepted
    do_job("relay_outbox")
    stage.record()
    assert get(stage, "/v1/tasks", wait="0").body["as_of"] == "2026-11-06T22:20:00.000Z"


def test_a_list_refuses_what_it_does_not_understand(stage):
    assert get(stage, "/v1/tasks", limit="0").kind == (422, "invalid_request", "limit")
    assert get(stage, "/v1/tasks", sort="id").kind == (422, "invalid_request", "sort")
    assert get(stage, "/v1/tasks", cursor="x").kind == (400, "bad_request", None)


def test_a_list_needs_the_ledger(stage):
    stage.ledger.is_away = True
    assert get(stage, "/v1/tasks").kind == (503, "unavailable", None)


def test_the_types_are_told_with_what_they_take(stage):
    result = get(stage, "/v1/types").body["types"]
    (echo,) = [one for one in result if one["name"] == "echo"]
    assert (echo["name"], echo["defaults"]["max_attempts"]) == ("echo", 4)
    assert set(echo) == {"name", "title", "schema", "defaults", "limits", "now"}


def test_health_asks_nobody(stage):
    stage.ledger.is_away = stage.records.is_away = stage.log.is_away = True
    answer = get(stage, "/healthz")
    assert (answer.status, answer.body) == (200, {"status": "ok", "version": __version__})


def test_it_is_ready_when_every_store_answers(stage):
    answer = get(stage, "/readyz")
    assert (answer.status, answer.body) == (200, {"status": "ready"})


@pytest.mark.parametrize(
    ("store", "name"), [("ledger", "PostgreSQL"), ("records", "Redis"), ("log", "Kafka")]
)
def test_it_is_not_ready_without_a_store_and_names_it(stage, store, name):
    getattr(stage, store).is_away = True
    answer = get(stage, "/readyz")
    assert answer.kind == (503, "unavailable", None)
    assert name in answer.body["detail"]


def unready(stage):
    answer = get(stage, "/readyz")
    assert answer.kind == (503, "unavailable", None)
    return answer.body["detail"]


def test_it_is_not_ready_while_redis_forgot_and_nobody_rebuilds_it(stage):
    stage.hot.forget()
    assert unready(stage).startswith("1 of 1 shards of Redis are cold and not being rebuilt")


def test_it_is_ready_while_a_rebuild_goes_on_unless_that_takes_long(stage):
    stage.hot.forget_shards()
    shards = MemoryColdShards(stage.hot, lifetimes=Lifetimes(nonce_stays=timedelta(minutes=2)))
    shards.begin("word")
    assert get(stage, "/readyz").status == 200
    stage.pass_time(milliseconds=31_000)
    assert "being rebuilt" in unready(stage)
    shards.open("word", {0})
    assert get(stage, "/readyz").status == 200
    stage.hot.forget_shards()
    shards.begin("another")
    assert get(stage, "/readyz").status == 200


def test_it_is_ready_while_a_lane_is_cold_unless_that_takes_long(stage):
    """A gateway may know a new type before a scheduler does."""
    stage.hot.lanes["echo"].restart()
    assert get(stage, "/readyz").status == 200
    stage.pass_time(milliseconds=31_000)
    assert "lanes are cold (echo), so their tasks do not start" in unready(stage)
    stage.hot.lanes["echo"].open()
    assert get(stage, "/readyz").status == 200


def test_it_is_not_ready_while_nobody_takes_what_is_due(stage):
    submit(stage, delay_seconds=5)
    stage.run(dispatcher, topics.PENDING)
    stage.pass_time(milliseconds=36_000)
    assert unready(stage) == "due tasks have waited for 31 s: start a scheduler"
    do_job("publish_due")
    assert get(stage, "/readyz").status == 200


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("HEAD", "/v1/tasks", "GET, POST"),
        ("HEAD", f"/v1/tasks/{NOBODY}", "GET, PATCH"),
        ("OPTIONS", "/v1/tasks", "GET, POST"),
        ("PUT", "/v1/tasks", "GET, POST"),
        ("DELETE", f"/v1/tasks/{NOBODY}", "GET, PATCH"),
        ("GET", f"/v1/tasks/{NOBODY}/cancel", "POST"),
        ("PATCH", "/v1/schedules/x", "DELETE, GET, PUT"),
        ("TRACE", "/healthz", "GET"),
    ],
)
def test_a_method_that_a_path_does_not_take_has_no_effect(stage, method, path, allowed):
    answer = call(stage, method, path, headers=JSON, body='{"type": "echo"}')
    assert answer.kind == (405, "method_not_allowed", None)
    assert answer.headers["Allow"] == allowed
    assert stage.log.tasks(topics.PENDING) == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/v1/tasks/batch/x"),
        ("POST", "/v1/tasks/x/cancel"),
        ("GET", "/v2/tasks"),
        ("GET", "/V1/TASKS"),
        ("GET", "/é\u202e"),
    ],
)
def test_what_is_no_route_has_no_effect(stage, method, path):
    answer = call(stage, method, path, headers=JSON, body='{"type": "echo"}')
    assert answer.kind == (404, "not_found", None)
    assert stage.log.tasks(topics.PENDING) == []


def test_who_asks_for_no_route_learns_where_every_route_is_described(stage):
    assert "GET /openapi.json" in get(stage, "/").body["detail"]
    assert "openapi.json" not in get(stage, f"/v1/tasks/{NOBODY}").body["detail"]


def test_an_error_of_ours_is_told_without_its_trace_and_logged_with_it(stage, caplog):
    def breaks():
        raise RuntimeError("secret of the house")

    stage.ports.catalogue = Instead(stage.catalogue, entries=breaks)
    event = an_http_event("GET", "/v1/types")
    with caplog.at_level(logging.ERROR, logger="taskmill"):
        answer = answer_to(stage, event)
    assert answer.kind == (500, "internal_error", None)
    assert "secret" not in json.dumps(answer.body)
    (line,) = caplog.records
    assert line.request_id == event["requestContext"]["requestId"]
    assert "secret of the house" in line.exc_text


def test_the_time_to_wait_before_a_repetition_is_spread(stage):
    stage.ledger.is_away = True
    result = {get(stage, "/v1/tasks").headers["Retry-After"] for _ in range(60)}
    assert result == {"2", "3"}
