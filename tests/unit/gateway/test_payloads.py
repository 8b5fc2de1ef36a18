"""Large payloads in requests: uploads, and valid references."""

import hashlib
import json

import pytest
from msgspec import Raw

from functions.dispatcher.handler import lambda_handler as dispatcher
from taskmill.core import topics
from taskmill.core.pointers import POINTED_BYTES, Pointer
from taskmill.core.task import Status
from taskmill.core.view import Ending
from tests.builders import NOW
from tests.unit.gateway.calls import JSON, batch, call, get, post, submit
from tests.unit.gateway.tasks import a_view
from tests.unit.stage import Stage
from tests.unit.world import Instead

CONTENT = b'{"say": "hello"}'
DIGEST = hashlib.sha256(CONTENT).hexdigest()
KEY = f"payloads/echo/default/{DIGEST}"
REF = {"url": f"s3://memory/{KEY}", "size": len(CONTENT), "sha256": DIGEST}


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def test_an_upload_is_offered_for_one_content(stage):
    answer = post(stage, "/v1/payloads", {"type": "echo", "size": len(CONTENT), "sha256": DIGEST})
    assert (answer.status, answer.body["payload_ref"]) == (200, REF)
    upload = answer.body["upload"]
    assert (upload["method"], upload["url"]) == ("PUT", f"memory:{KEY}")
    assert upload["headers"]["Content-Length"] == str(len(CONTENT))
    assert upload["expires_at"] == "2026-11-06T21:35:00.000Z"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({}, (422, "invalid_request", "")),
        ({"size": None}, (422, "invalid_request", "/size")),
        ({"size": 0}, (422, "invalid_request", "/size")),
        ({"size": 1.5}, (422, "invalid_request", "/size")),
        ({"size": POINTED_BYTES + 1}, (422, "invalid_request", "/size")),
        ({"sha256": DIGEST.upper()}, (422, "invalid_request", "/sha256")),
        ({"sha256": DIGEST + "\n"}, (422, "invalid_request", "/sha256")),
        ({"sha256": "../x"}, (422, "invalid_request", "/sha256")),
        ({"type": "nobody"}, (422, "unknown_type", "/type")),
        ({"type": "../echo"}, (422, "unknown_type", "/type")),
        ({"key": "mine"}, (422, "invalid_request", "")),
    ],
)
def test_what_is_no_upload_is_refused(stage, body, kind):
    whole = {"type": "echo", "size": 5, "sha256": DIGEST}
    assert post(stage, "/v1/payloads", whole | body if body else {}).kind == kind


def test_a_task_may_point_at_what_was_uploaded(stage):
    stage.blobs.write(KEY, CONTENT)
    answer = submit(stage, payload_ref=REF)
    assert (answer.status, answer.body["payload_size"]) == (202, len(CONTENT))
    assert answer.body["payload_ref"] == REF
    (task,) = stage.log.tasks(topics.PENDING)
    assert (task.payload_ref, task.payload) == (Pointer(**REF), Raw(b"null"))


def test_the_same_pointer_under_the_same_key_is_the_same_request(stage):
    stage.blobs.write(KEY, CONTENT)
    first = submit(stage, payload_ref=REF, idempotency_key="k")
    assert submit(stage, payload_ref=REF, idempotency_key="k").body["id"] == first.body["id"]
    answer = submit(stage, payload={"say": "hello"}, idempotency_key="k")
    assert answer.kind[:2] == (422, "idempotency_key_reused")


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"payload": {}, "payload_ref": REF}, (422, "payload_conflict", "/payload_ref")),
        ({"payload": None, "payload_ref": REF}, (422, "payload_conflict", "/payload_ref")),
        ({"payload_ref": REF | {"x": 1}}, (422, "invalid_request", "/payload_ref")),
        ({"payload_ref": {}}, (422, "invalid_request", "/payload_ref")),
        ({"payload_ref": None}, (422, "invalid_request", "/payload_ref")),
        *(
            ({"payload_ref": {k: v for k, v in REF.items() if k != name}}, kind)
            for name, kind in (
                ("size", (422, "invalid_request", "/payload_ref")),
                ("sha256", (422, "invalid_request", "/payload_ref")),
                ("url", (422, "invalid_request", "/payload_ref")),
            )
        ),
        (
            {"payload_ref": REF | {"url": "https://evil.example/x"}},
            (422, "invalid_request", "/payload_ref/url"),
        ),
        *(
            ({"payload_ref": REF | wrong}, (422, "payload_missing", "/payload_ref"))
            for wrong in (
                {"size": 4},
                {"sha256": "0" * 64},
                {"url": f"s3://other/{KEY}"},
                {"url": f"s3://memory/payloads/email/default/{DIGEST}"},
                {"url": f"s3://memory/payloads/echo/another/{DIGEST}"},
                {"url": f"s3://memory/payloads/echo/default/../default/{DIGEST}"},
                {"url": "s3://memory/results/echo/x"},
            )
        ),
    ],
)
def test_a_pointer_that_leads_nowhere_is_refused(stage, fields, kind):
    stage.blobs.write(KEY, CONTENT)
    assert submit(stage, **fields).kind == kind
    assert stage.log.tasks(topics.PENDING) == []


DAY = 86_400


def kept_for(stage, days):
    stage.blobs.write(KEY, CONTENT)
    stage.blobs.kept_until_ms = stage.clock() + int(days * DAY * 1000)


def test_a_task_that_may_not_find_its_payload_any_more_is_refused(stage):
    kept_for(stage, days=30)
    answer = submit(stage, payload_ref=REF, delay_seconds=29 * DAY + 1)
    assert answer.kind == (422, "payload_missing", "/payload_ref")
    assert "kept until 2026-12-06T21:20:00+00:00" in answer.body["detail"]
    assert "start at 2026-12-05T21:20:01+00:00" in answer.body["detail"]
    (result,) = batch(
        stage, {"type": "echo", "payload_ref": REF, "run_at": "2026-12-05T21:20:01Z"}
    ).body["results"]
    assert result["status"] == 422
    assert submit(stage, payload_ref=REF, delay_seconds=29 * DAY).status == 202


def test_a_payload_that_is_about_to_go_must_be_uploaded_again(stage):
    kept_for(stage, days=0.9)
    assert submit(stage, payload_ref=REF).kind == (422, "payload_missing", "/payload_ref")


def test_a_request_that_was_in_time_for_its_payload_gets_its_task_again(stage):
    kept_for(stage, days=30)
    asked = {"payload_ref": REF, "delay_seconds": 29 * DAY, "idempotency_key": "k"}
    task = submit(stage, **asked).body
    stage.pass_time(milliseconds=60_000)
    again = submit(stage, **asked)
    assert (again.status, again.body["id"]) == (200, task["id"])


@pytest.mark.parametrize(("days", "status"), [(28, 200), (29.5, 422)])
def test_a_task_is_not_put_off_until_its_payload_may_be_gone(stage, days, status):
    kept_for(stage, days=30)
    task = submit(stage, payload_ref=REF, delay_seconds=60).body
    stage.run(dispatcher, topics.PENDING)
    wanted = json.dumps({"delay_seconds": days * DAY})
    answer = call(stage, "PATCH", f"/v1/tasks/{task['id']}", headers=JSON, body=wanted)
    assert answer.status == status
    if status == 422:
        assert answer.kind == (422, "invalid_request", "/run_at")


def test_what_was_not_uploaded_is_missing_and_says_what_to_do(stage):
    answer = submit(stage, payload_ref=REF)
    assert answer.kind == (422, "payload_missing", "/payload_ref")
    assert "POST /v1/payloads" in answer.body["detail"]


def test_a_payload_that_is_too_large_is_told_the_way(stage):
    answer = submit(stage, payload={"say": "x" * 300_000})
    assert answer.kind == (413, "payload_too_large", "/payload")
    assert "POST /v1/payloads" in answer.body["detail"]


def test_a_bucket_that_is_away_is_a_503_and_nothing_is_taken(stage):
    stage.blobs.is_away = True
    assert submit(stage, payload_ref=REF).status == 503
    answer = batch(stage, {"type": "echo"}, {"type": "echo", "payload_ref": REF})
    assert [one["status"] for one in answer.body["results"]] == [202, 503]
    assert len(stage.log.tasks(topics.PENDING)) == 1


def test_a_batch_looks_for_no_more_than_a_hundred(stage):
    stage.blobs.write(KEY, CONTENT)
    one = {"type": "echo", "payload_ref": REF}
    assert batch(stage, *[one] * 100).body["accepted"] == 100
    assert batch(stage, *[one] * 101).kind == (422, "invalid_request", "/tasks")


def test_what_is_large_is_shown_by_a_link(stage):
    stage.blobs.write(KEY, CONTENT)
    task_id = submit(stage, payload_ref=REF).body["id"]
    shown = get(stage, f"/v1/tasks/{task_id}", include="payload").body
    assert shown["payload_ref"] == REF | {"download_url": f"memory:{KEY}"}
    assert "payload" not in shown
    assert get(stage, f"/v1/tasks/{task_id}").body["payload_ref"] == REF


@pytest.mark.parametrize(
    ("key", "is_linked"),
    [
        ("results/echo/x", True),
        ("results/other/x", False),
        ("results/echo", False),
        ("payloads/echo/default/x", False),
    ],
)
def test_a_result_is_linked_if_its_own_worker_may_have_written_it(stage, key, is_linked):
    record = {"url": f"s3://memory/{key}", "size": 5, "sha256": DIGEST}
    ending = Ending(finished_at_ms=NOW, result_ref=Pointer(**record))
    view = a_view(status=Status.SUCCEEDED, ending=ending, result=Raw(b"null"))
    stage.ports.records = Instead(stage.records, read=lambda _ids: [view])
    shown = get(stage, f"/v1/tasks/{view.id}").body
    link = {"download_url": f"memory:{key}"} if is_linked else {}
    assert shown["result_ref"] == record | link
    assert "result" not in shown
