"""A task is read from any store, and a read may wait for its end."""

import pytest

from functions.dispatcher.handler import lambda_handler as dispatcher
from functions.workers.echo.handler import lambda_handler as echo
from taskmill.core import topics
from taskmill.core.task import TaskType
from tests.unit.gateway.calls import NOBODY, end, get, submit
from tests.unit.stage import NOW, Stage


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def test_a_task_can_be_read_as_soon_as_it_is_accepted(stage):
    task = submit(stage).body
    read = get(stage, f"/v1/tasks/{task['id']}")
    assert (read.status, read.body) == (200, task)


def test_an_ended_task_shows_its_result(stage):
    task = submit(stage, payload={"say": ["hello", 10**30]}).body
    end(stage, task["id"])
    read = get(stage, f"/v1/tasks/{task['id']}")
    assert (read.body["status"], read.body["result"]) == ("succeeded", {"say": ["hello", 10**30]})


def test_the_payload_comes_along_when_it_is_asked_for(stage):
    task = submit(stage, payload={"say": 1.5}).body
    stage.record()
    read = get(stage, f"/v1/tasks/{task['id']}", include="payload")
    assert (read.status, read.body) == (200, task | {"payload": {"say": 1.5}})


def test_the_payload_is_waited_for_while_the_ledger_has_not_heard_of_it(stage):
    task = submit(stage, payload={"say": 1}).body
    stage.on_wait[:] = [stage.record]
    read = get(stage, f"/v1/tasks/{task['id']}", include="payload")
    assert (read.status, read.body.get("payload")) == (200, {"say": 1})


def test_a_wait_is_also_for_the_payload(stage):
    task = submit(stage, payload={"say": 1}).body
    end(stage, task["id"])

    def hear_of_it_late():
        if stage.clock() > NOW + 4_000:
            stage.record()

    stage.on_wait[:] = [hear_of_it_late]
    path = f"/v1/tasks/{task['id']}"
    assert get(stage, path, include="payload").kind == (503, "unavailable", None)
    assert stage.clock() == NOW + 1_500
    read = get(stage, path, include="payload", wait="5")
    assert (read.status, read.body.get("payload")) == (200, {"say": 1})
    assert stage.places.free == 1


def test_a_payload_is_never_that_of_another_life_of_the_key(stage):
    task = submit(stage, payload={"say": "first"}, idempotency_key="k").body
    end(stage, task["id"])
    stage.record()
    stage.pass_time(milliseconds=73 * 3_600_000)
    again = submit(stage, payload={"say": "second"}, idempotency_key="k").body
    assert (again["id"], again["generation"] > task["generation"]) == (task["id"], True)
    path = f"/v1/tasks/{task['id']}"
    assert get(stage, path, include="payload").kind == (503, "unavailable", None)
    stage.record()
    assert get(stage, path, include="payload").body["payload"] == {"say": "second"}


def test_the_payload_cannot_be_told_before_the_ledger_has_it(stage):
    task = submit(stage).body
    read = get(stage, f"/v1/tasks/{task['id']}", include="payload")
    assert read.kind == (503, "unavailable", None)


def test_the_payload_cannot_be_told_without_the_ledger(stage):
    task = submit(stage).body
    stage.ledger.is_away = True
    read = get(stage, f"/v1/tasks/{task['id']}", include="payload")
    assert read.kind == (503, "unavailable", None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("include", "result"),
        ("include", ""),
        ("include", "payload,payload"),
        ("includes", "payload"),
        ("Wait", "1"),
        ("", ""),
        ("wait", ""),
        ("wait", "-1"),
        ("wait", "25.001"),
        ("wait", "26"),
        ("wait", "1e1"),
        ("wait", "NaN"),
        ("wait", "Infinity"),
        ("wait", " 1"),
        ("wait", "1,1"),
        ("wait", "٣"),
        ("wait", "9" * 5_000),
        ("wait", "0x10"),
        ("wait", "5."),
        ("wait", "true"),
    ],
    ids=lambda case: case[:20],
)
def test_a_read_refuses_what_it_does_not_understand_by_name(stage, name, value):
    task = submit(stage).body
    read = get(stage, f"/v1/tasks/{task['id']}", **{name: value})
    assert read.kind == (422, "invalid_request", name)


@pytest.mark.parametrize("wait", ["0", "25", "25.0", "0.001"])
def test_a_wait_within_its_limits_is_held_until_it_is_over(stage, wait):
    task = submit(stage).body
    read = get(stage, f"/v1/tasks/{task['id']}", wait=wait)
    waited = stage.clock() - NOW
    assert (read.status, read.body["status"]) == (200, "queued")
    assert float(wait) * 1_000 <= waited <= float(wait) * 1_000 + 200


def test_a_wait_ends_with_the_task(stage):
    task = submit(stage, payload={"say": "there"}).body
    stage.on_wait[:] = [lambda: end(stage, task["id"])]
    read = get(stage, f"/v1/tasks/{task['id']}", wait="25")
    assert (read.body["status"], read.body["result"]) == ("succeeded", {"say": "there"})
    assert stage.clock() - NOW < 1_000
    assert stage.places.free == 1


def test_a_wait_without_a_free_place_is_answered_at_once(stage):
    task = submit(stage).body
    stage.places.free = 0
    read = get(stage, f"/v1/tasks/{task['id']}", wait="25")
    assert (read.body["status"], stage.clock()) == ("queued", NOW)


def test_a_wait_outlasts_a_redis_that_is_rebuilt(stage):
    stage.hot.forget()
    task = submit(stage).body

    def go_on():
        stage.hot.open()
        stage.hot.lanes.open()
        stage.run(dispatcher, topics.PENDING)
        stage.run(echo, topics.worker(TaskType("echo")))

    stage.on_wait[:] = [go_on]
    read = get(stage, f"/v1/tasks/{task['id']}", wait="25")
    assert (read.status, read.body["status"]) == (200, "succeeded")


def test_a_wait_that_saw_nothing_says_so_at_its_end(stage):
    stage.hot.forget()
    task = submit(stage).body
    read = get(stage, f"/v1/tasks/{task['id']}", wait="5")
    assert (read.status, stage.clock() - NOW >= 5_000) == (503, True)


def test_nobody_waits_for_a_store_that_is_away(stage):
    stage.hot.forget()
    task = submit(stage).body
    stage.ledger.is_away = True
    read = get(stage, f"/v1/tasks/{task['id']}", wait="25")
    assert (read.status, stage.clock()) == (503, NOW)


def test_nobody_waits_for_an_ended_task(stage):
    task = submit(stage).body
    end(stage, task["id"])
    get(stage, f"/v1/tasks/{task['id']}", wait="25")
    assert stage.clock() == NOW


@pytest.mark.parametrize(
    "task_id",
    [
        "x",
        "7",
        "None",
        "' OR 1=1 --",
        "../../etc/passwd",
        "{tm}",
        "01A1B2C3-0000-7000-8000-000000000001",
        "01a1b2c300007000800000000000000001",
        "01a1b2c3-0000-4000-8000-000000000001",
        "01a1b2c3-0000-7000-8000-000000000001 ",
        "01a1b2c3-0000-7000-8000-00000000000\u0661",
        "é",
        "\x00",
        "\u202e",
        "x" * 9_000,
    ],
    ids=lambda case: repr(case)[:30],
)
def test_what_is_no_id_of_ours_is_never_looked_for(stage, task_id):
    stage.ledger.is_away = stage.records.is_away = stage.log.is_away = True
    assert get(stage, f"/v1/tasks/{task_id}").kind == (404, "not_found", None)


def test_a_task_that_never_was_is_not_found(stage):
    submit(stage)
    stage.record()
    assert get(stage, f"/v1/tasks/{NOBODY}").kind == (404, "not_found", None)


@pytest.mark.parametrize("wait", [{}, {"wait": "10"}])
def test_a_ledger_behind_the_log_cannot_say_that_a_task_never_was(stage, wait):
    submit(stage)
    assert get(stage, f"/v1/tasks/{NOBODY}", **wait).kind == (503, "unavailable", None)


@pytest.mark.parametrize("store", ["ledger", "log"])
def test_an_unknown_id_is_not_told_from_an_absent_store(stage, store):
    getattr(stage, store).is_away = True
    assert get(stage, f"/v1/tasks/{NOBODY}").kind == (503, "unavailable", None)


def test_without_the_hot_store_an_ended_task_is_read_from_the_ledger(stage):
    task = submit(stage).body
    end(stage, task["id"])
    ended = get(stage, f"/v1/tasks/{task['id']}")
    stage.record()
    stage.records.is_away = True
    assert get(stage, f"/v1/tasks/{task['id']}").body == ended.body


def test_without_the_hot_store_a_task_in_line_cannot_be_told(stage):
    task = submit(stage).body
    stage.record()
    stage.records.is_away = True
    assert get(stage, f"/v1/tasks/{task['id']}").kind == (503, "unavailable", None)
