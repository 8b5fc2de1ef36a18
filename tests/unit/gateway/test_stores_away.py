"""While a store is unavailable, every route explains which data it keeps."""

import pytest

from taskmill.core.errors import StoreUnavailable
from tests.unit.gateway.calls import NOBODY, get, submit
from tests.unit.stage import Stage


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


class AwayEndpoints:
    def disabled(self, *, most):
        raise StoreUnavailable("Redis", f"asked for {most}")


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/v1/tasks", "lists come from the ledger: PostgreSQL is unavailable"),
        ("/v1/enqueued", "enqueued requests are in the ledger: PostgreSQL is unavailable"),
        ("/v1/quarantine", "the quarantine is in the ledger: PostgreSQL is unavailable"),
        (f"/v1/redrives/{NOBODY}", "redrive jobs are in the ledger: PostgreSQL is unavailable"),
        ("/v1/schedules", "schedules are in the ledger: PostgreSQL is unavailable"),
        ("/v1/pauses", "pauses are in the ledger: PostgreSQL is unavailable"),
        ("/v1/schedules/nightly/next", "schedules are in the ledger: PostgreSQL is unavailable"),
        ("/v1/endpoints/disabled", "disabled endpoints are in Redis: Redis is unavailable"),
    ],
)
def test_who_asks_is_told_what_is_kept_where(stage, path, detail):
    stage.ledger.is_away = stage.requests.is_away = True
    stage.ports.endpoints = AwayEndpoints()
    answer = get(stage, path)
    assert (answer.kind[0], answer.body["detail"]) == (503, detail)


@pytest.mark.parametrize(
    ("path", "query", "kept"),
    [("", {"include": "payload"}, "the payload is"), ("/history", {}, "the history is")],
)
def test_what_the_ledger_adds_to_a_task_is_missed_without_it(stage, path, query, kept):
    task_id = submit(stage).body["id"]
    stage.ledger.is_away = True
    answer = get(stage, f"/v1/tasks/{task_id}{path}", **query)
    assert answer.kind[0] == 503
    assert answer.body["detail"] == f"{kept} in the ledger: PostgreSQL is unavailable"
