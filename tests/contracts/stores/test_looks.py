"""Queries for due work read only that, however much else is stored."""

from contextlib import closing

import psycopg
import pytest
from psycopg.rows import dict_row

from taskmill.core.task import Timing
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.ledger import PostgresLedger
from tests.builders import a_fresh_envelope, a_new_id, now_ms
from tests.contracts.ledgers import batch_of

MANY = 2_000
HOUR = 3_600_000
_FILL = {
    "schedules": (
        "INSERT INTO schedules (tenant, name, definition, is_managed, next_at, look_at,"
        " decided_at, created_at, changed_at)"
        " SELECT 'default', n::text, '{}', FALSE, at, at, now(), now(), now()"
        " FROM generate_series(1, %s) AS n, LATERAL (SELECT now() + '1 day'::interval AS at) AS d"
    ),
    "enqueued": (
        "INSERT INTO enqueued (task_id, submission, request, not_before)"
        " SELECT gen_random_uuid(), 's', '{}', now() + '1 day'::interval"
        " FROM generate_series(1, %s)"
    ),
    "outbox": (
        "INSERT INTO outbox (task_id, submission, generation, envelope, fingerprint, published_at)"
        " SELECT gen_random_uuid(), 's', 1, '{}', 'f', now() FROM generate_series(1, %s)"
    ),
}
_PAGE = {"after_ms": None, "after_id": None, "most": 500}
_LOOKS = {
    "schedules/list_due_schedules": {"most": 250, "octets": 9, "unreadable": []},
    "ledger/list_past_expiries": _PAGE,
    "ledger/remove_met_expiries": {},
    "ledger/list_coming_tasks": _PAGE | {"ahead_seconds": 600},
    "submission/look_for_enqueued": {},
    "submission/hold_enqueued": {
        "most": 200,
        "octets": 9_999,
        "largest": 9_999,
        "old_seconds": 1_800,
    },
    "submission/hold_unsent": {"most": 500},
}


@pytest.fixture(scope="module")
def full(make_database):
    """Return a ledger with many waiting rows, none of them due."""
    owner, app = make_database()
    with closing(Database(app)) as database:
        timing = Timing(run_at_ms=now_ms() + 24 * HOUR, expires_at_ms=now_ms() + 48 * HOUR)
        tasks = [a_fresh_envelope(id=a_new_id(), timing=timing) for _ in range(MANY)]
        PostgresLedger(database).record(batch_of(*tasks))
    with psycopg.connect(owner, autocommit=True) as connection:
        for fill in _FILL.values():
            connection.execute(fill, [MANY])
        for table in ("tasks", "far_tasks", "expiries", *_FILL):
            (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - names of ours
            assert count == MANY
            connection.execute(f"ANALYZE {table}")
    return app


@pytest.mark.parametrize("name", _LOOKS)
def test_a_look_reads_nothing_that_is_not_due(full, name):
    answer = explained(full, name, _LOOKS[name])
    assert not any(map(_looked_at, nodes(answer["Plan"]))), answer


def test_of_many_that_are_due_a_look_reads_no_more_than_it_tells(database):
    owner, app = database
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(_FILL["schedules"].replace("+ '1 day'", "- '1 day'"), [MANY])
        connection.execute("ANALYZE schedules")
    answer = explained(
        app, "schedules/list_due_schedules", {"most": 10, "octets": 9_999, "unreadable": []}
    )
    assert answer["Plan"]["Actual Rows"] == 10
    assert max(map(_looked_at, nodes(answer["Plan"]))) == 10, answer


def test_a_list_by_metadata_reads_those_that_have_it_and_no_others(database):
    owner, app = database
    tasks = [a_fresh_envelope(id=a_new_id(), metadata={"run": str(n // 10)}) for n in range(MANY)]
    with closing(Database(app)) as opened:
        PostgresLedger(opened).record(batch_of(*tasks))
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("ANALYZE tasks")
    anything = dict.fromkeys(
        ["type", "status", "created_after_ms", "created_before_ms", "after_ms", "after_id"]
    )
    asked = anything | {"tenant": "default", "metadata": '{"run":"7"}', "limit": 50}
    answer = explained(app, "ledger/list_tasks", asked)
    assert answer["Plan"]["Actual Rows"] == 10
    assert max(map(_looked_at, nodes(answer["Plan"]))) == 10, answer


_ANY_TASK = {
    **dict.fromkeys(
        ["type", "status", "created_after_ms", "created_before_ms", "after_ms", "after_id"]
    ),
    "tenant": "default",
    "metadata": "{}",
    "limit": 51,
}


@pytest.mark.parametrize(
    ("statement", "asked", "most"),
    [
        ("ledger/find_task", {}, 1),
        ("ledger/find_whole_tasks", {}, 1),
        ("ledger/list_tasks", _ANY_TASK, 51),
    ],
)
def test_what_is_asked_of_few_tasks_reads_no_others(full, statement, asked, most):
    with psycopg.connect(full, autocommit=True) as connection:
        (task_id,) = connection.execute("SELECT id FROM tasks LIMIT 1").fetchone()
    answer = explained(full, statement, asked or {"id": task_id, "ids": [task_id]})
    assert answer["Plan"]["Actual Rows"] == most
    assert max(map(_looked_at, nodes(answer["Plan"]))) == most, answer


def explained(dsn, name, values):
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        statement = b"EXPLAIN (ANALYZE, FORMAT JSON) " + queries.load(name)
        (row,) = connection.execute(statement, values).fetchall()
    (answer,) = row["QUERY PLAN"]
    return answer


def nodes(node):
    yield node
    for each in node.get("Plans", ()):
        yield from nodes(each)


def _looked_at(node):
    if "Relation Name" not in node:
        return 0
    return node["Actual Rows"] + sum(answer for name, answer in node.items() if "Removed" in name)
