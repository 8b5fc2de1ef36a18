"""A lookup by type and idempotency key returns the current task or none."""

import pytest

from functions.dispatcher.handler import lambda_handler as dispatcher
from taskmill.core import topics
from tests.unit.gateway.calls import end, get, submit
from tests.unit.stage import Stage

PATH = "/v1/tasks"
KEY = "order 17, twice & more"


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def by_key(stage, **query):
    return get(stage, PATH, **{"type": "echo", "idempotency_key": KEY} | query)


def test_a_task_is_found_by_its_key_as_soon_as_it_is_accepted(stage):
    task = submit(stage, idempotency_key=KEY).body
    answer = by_key(stage)
    assert answer.body == {"tasks": [task], "next_cursor": None, "as_of": None}
    end(stage, task["id"])
    assert by_key(stage).body["tasks"][0]["status"] == "succeeded"


def test_a_key_of_another_type_or_of_nobody_has_no_task(stage):
    submit(stage, idempotency_key=KEY)
    stage.record()
    assert by_key(stage, type="email").body["tasks"] == []
    assert by_key(stage, type="é").body["tasks"] == []
    assert by_key(stage, idempotency_key="another").body["tasks"] == []


def test_a_key_whose_secret_form_lists_hide_is_shown_to_who_knows_it(stage):
    key = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
    submit(stage, idempotency_key=key)
    assert by_key(stage, idempotency_key=key).body["tasks"][0]["idempotency_key"] == key


def test_nobody_is_told_that_there_is_none_while_that_cannot_be_known(stage):
    stage.hot.forget()
    submit(stage, idempotency_key=KEY)
    assert by_key(stage).kind == (503, "unavailable", None)
    stage.hot.open()
    stage.run(dispatcher, topics.PENDING)
    assert len(by_key(stage).body["tasks"]) == 1


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"idempotency_key": "k"}, "type"),
        ({"idempotency_key": "k", "type": "echo", "status": "dead"}, "status"),
        ({"idempotency_key": "k", "type": "echo", "limit": "1"}, "limit"),
        ({"idempotency_key": "", "type": "echo"}, "idempotency_key"),
        ({"idempotency_key": "k" * 256, "type": "echo"}, "idempotency_key"),
        ({"idempotency_key": "é", "type": "echo"}, "idempotency_key"),
    ],
    ids=str,
)
def test_what_names_no_task_is_refused_by_name(stage, query, field):
    assert get(stage, PATH, **query).kind == (422, "invalid_request", field)
