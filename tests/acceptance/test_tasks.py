"""A task from HTTP submission to its status in the ledger."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from taskmill import __version__
from tests.acceptance.ledger import history, quarantined
from tests.prometheus import parse
from tests.waiting import eventually

PATIENCE = 20
LONG = 60


def in_the_ledger(client, marked):
    """Return the listed tasks with this metadata, once they are all final."""

    def page():
        return client.get(f"/v1/tasks?metadata.mark={marked}&limit=200").body["tasks"]

    eventually(
        lambda: page() and all("finished_at" in task for task in page()),
        within=LONG,
        reason=f"tasks marked {marked} final in the ledger",
    )
    return page()


def test_a_task_is_accepted_performed_and_told(client):
    accepted = client.post("/v1/tasks", {"type": "echo", "payload": {"say": "hello"}})
    reply = client.task(accepted.body["id"], wait=PATIENCE)
    assert (accepted.status, accepted.headers["location"]) == (202, f"/v1/tasks/{reply['id']}")
    assert (reply["status"], reply["result"], reply["attempt"]) == (
        "succeeded",
        {"say": "hello"},
        1,
    )


def test_a_202_can_be_read_at_once(client):
    submitted = [client.submit({"say": n})["id"] for n in range(200)]
    assert {client.get(f"/v1/tasks/{task}").status for task in submitted} == {200}


@pytest.mark.parametrize(
    ("payload", "reason", "error_class"),
    [
        ({"retry": "not today"}, "failed", "Retry"),
        ({"discard": "never"}, "discarded", "Discard"),
        ({"crash": "a bug"}, "failed", "RuntimeError"),
        ({"answer_bytes": 21_000_000}, "result_invalid", "ResultInvalid"),
    ],
)
def test_a_task_that_does_not_succeed_dies_with_its_reason(client, payload, reason, error_class):
    reply = client.task(client.submit(payload, max_attempts=1)["id"], wait=PATIENCE)
    assert (reply["status"], reply["reason"], reply["error"]["class"]) == (
        "dead",
        reason,
        error_class,
    )


def test_an_attempt_past_its_deadline_is_cut_off_and_harms_no_batch_mate(client):
    batch = client.post(
        "/v1/tasks/batch",
        {
            "tasks": [
                {
                    "type": "echo",
                    "payload": {"sleep_seconds": 30},
                    "timeout_seconds": 0.5,
                    "max_attempts": 1,
                },
                {"type": "echo", "payload": {"say": "unharmed"}},
            ]
        },
    )
    late, good = (result["task"]["id"] for result in batch.body["results"])
    assert client.task(late, wait=PATIENCE)["reason"] == "timeout"
    assert client.task(good, wait=PATIENCE)["status"] == "succeeded"


def test_a_task_that_fails_is_tried_again_after_a_while(stack, client):
    payload = {"retry": "not yet", "for_attempts": 2}
    task = client.submit(payload, retry={"first_seconds": 0.4})["id"]
    reply = client.task(task, wait=PATIENCE)
    assert (reply["status"], reply["attempt"], reply["losses"]) == ("succeeded", 3, 0)
    expected = [
        ("TaskSubmitted", 1),
        ("TaskDeferred", 1),
        ("TaskDeferred", 2),
        ("TaskSucceeded", 3),
    ]
    eventually(
        lambda: history(stack, task) == expected, within=LONG, reason="the history of its turns"
    )


def test_a_task_longer_than_a_lease_runs_once_and_tells_that_it_started(stack, client):
    task = client.submit({"sleep_seconds": 8})["id"]
    reply = client.task(task, wait=25)
    assert (reply["status"], reply["losses"]) == ("succeeded", 0)
    expected = [("TaskSubmitted", 1), ("TaskStarted", 1), ("TaskSucceeded", 1)]
    eventually(
        lambda: history(stack, task) == expected, within=LONG, reason="the history of a long task"
    )


def test_fifty_callers_with_one_key_make_one_task(client):
    key = str(uuid4())
    request = {"type": "echo", "payload": {"say": key}, "idempotency_key": key}
    with ThreadPoolExecutor(10) as callers:
        answers = list(callers.map(lambda _: client.post("/v1/tasks", request), range(50)))
    assert {answer.status for answer in answers} == {200, 202}
    assert len({answer.body["id"] for answer in answers}) == 1
    assert [answer.status for answer in answers].count(202) == 1


def test_another_request_under_a_key_is_refused(client):
    key = str(uuid4())
    client.submit({"say": 1}, idempotency_key=key)
    refused = client.post("/v1/tasks", {"type": "echo", "idempotency_key": key})
    assert (refused.status, refused.body["type"]) == (422, "idempotency_key_reused")


def test_one_bad_item_does_not_fail_the_rest_of_a_batch(client):
    mark = str(uuid4())
    good = {"type": "echo", "metadata": {"mark": mark}}
    answer = client.post("/v1/tasks/batch", {"tasks": [good, {"type": "nobody"}, good]})
    assert [result["status"] for result in answer.body["results"]] == [202, 422, 202]
    assert [task["status"] for task in in_the_ledger(client, mark)] == ["succeeded"] * 2


def test_what_is_accepted_comes_back_as_it_was_given(client):
    value = [0, -1, 2**70, 0.1, 1e300, "", "\u00e9\U0001f600\u202e", None, True, {"": [[]]}]
    task = client.submit({"say": value})["id"]
    assert client.task(task, wait=PATIENCE)["result"] == {"say": value}
    eventually(
        lambda: client.get(f"/v1/tasks/{task}?include=payload").status == 200,
        within=LONG,
        reason="the payload in the ledger",
    )
    assert client.get(f"/v1/tasks/{task}?include=payload").body["payload"] == {"say": value}


def test_an_unknown_id_is_not_found(client):
    def asked():
        return client.get("/v1/tasks/01a1ef2c-e0f2-73ed-aa8e-b76fd0178442")

    eventually(lambda: asked().status != 503, within=LONG, reason="the ledger caught up")
    assert (asked().status, asked().body["type"]) == (404, "not_found")


def test_a_walk_through_the_pages_sees_each_task_once(client):
    mark = str(uuid4())
    task = {"type": "echo", "metadata": {"mark": mark}}
    batch = client.post("/v1/tasks/batch", {"tasks": [task] * 25})
    in_the_ledger(client, mark)
    seen, cursor = [], ""
    while cursor is not None:
        page = client.get(f"/v1/tasks?metadata.mark={mark}&limit=10{cursor}").body
        seen += [task["id"] for task in page["tasks"]]
        cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
    assert len(seen) == 25
    assert set(seen) == {result["task"]["id"] for result in batch.body["results"]}


def test_bad_bytes_on_any_topic_stop_nobody_and_are_kept(stack, client):
    bad = b"\xff" + uuid4().bytes
    producer = Producer(
        {"bootstrap.servers": client.platform()["stores"]["Kafka"]["address"], "acks": "all"}
    )
    topics = ["tasks.pending", "tasks.worker.echo", "tasks.events"]
    for topic in topics:
        producer.produce(topic, bad)
    assert producer.flush(PATIENCE) == 0
    assert client.task(client.submit({"say": "still"})["id"], wait=PATIENCE)["result"] == {
        "say": "still"
    }
    for topic in topics:
        eventually(
            lambda topic=topic: bad in [value for value, _ in quarantined(stack, topic)],
            within=LONG,
            reason=f"the bad record of {topic} in quarantine",
        )


def test_the_service_tells_its_types_and_that_it_is_ready(client):
    types = client.get("/v1/types").body["types"]
    assert {"echo", "email"} <= {entry["name"] for entry in types}
    assert client.get("/healthz").body == {"status": "ok", "version": __version__}
    assert client.get("/readyz").body == {"status": "ready"}


def test_what_happens_is_counted_for_prometheus(client):
    marked = "counted"
    client.submit({"say": "counted"}, metadata={"mark": marked})
    client.task(client.submit({"discard": "counted"}, metadata={"mark": marked})["id"], PATIENCE)
    in_the_ledger(client, marked)
    expected = {
        ("taskmill_submissions_total", "created"),
        ("taskmill_entered_total", "echo"),
        ("taskmill_claims_total", "claimed"),
        ("taskmill_attempts_total", "succeeded"),
        ("taskmill_attempts_total", "died"),
        ("taskmill_dead_total", "discarded"),
        ("taskmill_facts_recorded_total", "TaskDied"),
        ("taskmill_wait_seconds_count", "echo"),
        ("taskmill_function_invocations_total", "EchoWorker"),
        ("taskmill_mapping_lag", "tasks.worker.echo"),
    }
    eventually(lambda: expected <= counted(client), within=PATIENCE, reason="everything is counted")


def counted(client):
    """Return each metric name on the page, with each of its label values."""
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    _, samples = parse(answer.text)
    return {(name, word) for name, labels in samples for _, word in labels}


def test_statistics_tell_what_waits_and_what_was_done(client):
    """Statistics are up to three seconds old: it must wait or run for longer than that."""
    client.submit({"sleep_seconds": 10})

    def is_start_reported():
        reply = client.get("/v1/stats").body
        running = reply["types"].get("echo", {}).get("depth", {})
        return running.get("running") or running.get("queued")

    eventually(is_start_reported, within=PATIENCE, reason="the task is seen to wait or to run")
    reply = client.get("/v1/stats").body
    assert reply["last_minute"]["submitted"] >= 1
    assert set(reply["lag"]) >= {"dispatcher", "recorder-events"}
    now = reply["types"]["echo"]["now"]
    assert now["lane"] == "live"
    assert sum(now["waiting"].values()) + now["in_flight"] >= 1


def test_a_mail_is_sent_once_and_says_what_it_was_told(client):
    text = "Grüße\n.\nund mehr"
    payload = {"to": ["Ada <ada@example.com>"], "bcc": ["bob@example.com"], "subject": "Für Ada"}
    task = client.submit(payload | {"text": text}, type="email")
    reply = client.task(task["id"], wait=20)
    assert (reply["status"], reply["attempt"]) == ("succeeded", 1), reply
    mails = client.get("/mail").body["mails"]
    (mail,) = [one for one in mails if one["message_id"] == reply["result"]["message_id"]]
    assert (mail["to"], mail["subject"]) == (["ada@example.com", "bob@example.com"], "Für Ada")
    assert mail["message_id"].startswith(f"<{task['id']}-")
    assert "bob" not in mail["content"]


def test_a_mail_with_a_second_header_in_it_is_refused_at_the_door(client):
    payload = {"to": ["a@b.de"], "subject": "x\r\nBcc: all@example.com", "text": "x"}
    answer = client.post("/v1/tasks", {"type": "email", "payload": payload})
    assert (answer.status, answer.body["field"]) == (422, "/payload/subject")
