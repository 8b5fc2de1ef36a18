"""The ledger keeps values byte for byte, and refuses those that it cannot store."""

import random
from contextlib import suppress

import msgspec
import psycopg
import pytest
from msgspec import Raw
from msgspec.structs import replace

from taskmill.core.errors import LedgerRefused, StoreUnavailable
from taskmill.core.pointers import Pointer
from taskmill.core.task import Millis, TaskId
from taskmill.core.view import Ending
from taskmill.ledger.projection import Applied, LedgerBatch, Quarantined
from tests.builders import NOW, TASK, an_envelope, died, started, succeeded
from tests.contracts.ledgers import PostgresTables, batch_of

VALUES = [
    b"null",
    b"0",
    b"-0.0",
    b"1.10",
    b"1e3",
    b"0.1000000000000000055511151231257827",
    b"12345678901234567890123456789",
    b'"\\u00e9 \xe2\x98\x83 \xf0\x9f\xa6\x80"',
    b'{"b": 1,  "a": [null, true], "b": 2}',
    b'"it\'s %s %(x)s \\\\ \\" $1"',
    b'""',
    b"[]",
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.decode())
def test_a_payload_is_kept_to_the_byte(ledger, value):
    ledger.ledger.record(batch_of(an_envelope(payload=Raw(value))))
    assert ledger.rows.payload(TASK, NOW) == value


def test_what_points_elsewhere_is_told_to_readers(ledger):
    pointer = Pointer(url="s3://bucket/results/echo/x", size=3_000_000, sha256="0" * 64)
    task = an_envelope(payload=Raw(b"null"), payload_ref=pointer)
    result = succeeded(task, result=Raw(b"null"), result_ref=pointer)
    ledger.ledger.record(batch_of(task, result))
    found = ledger.rows.find(TASK)
    assert (found.spec.payload_ref, found.spec.payload_size) == (pointer, pointer.size)
    assert found.ending.result_ref == pointer


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.decode())
def test_a_result_is_kept_to_the_byte(ledger, value):
    task = an_envelope()
    ledger.ledger.record(batch_of(task, succeeded(task, result=Raw(value))))
    assert ledger.rows.find(TASK).result == Raw(value)


def test_a_task_is_read_as_it_was_told(ledger):
    task = an_envelope(
        idempotency_key="kéy ☃", metadata={"who": "söme", "a.b": "'; --"}, timeout_seconds=0.1
    )
    fact = died(task, error_message="it's \\ %s ☃", stack="at\n☃", token=2**60, losses=2)
    ledger.ledger.record(batch_of(task, fact))
    view = ledger.rows.find(TASK)
    assert view.ending == Ending(
        finished_at_ms=fact.at_ms,
        reason="failed",
        error_class="ValueError",
        error_message="it's \\ %s ☃",
        stack="at\n☃",
    )
    assert (view.spec.idempotency_key, view.spec.metadata) == (
        task.idempotency_key,
        task.metadata,
    )
    assert (view.started_at_ms, view.losses) == (fact.started_at_ms, 2)
    assert ledger.rows.fingerprint(TASK) == task.fingerprint


@pytest.mark.parametrize("at_ms", [0, 1, 999, NOW + 1, 253_402_300_799_999])
def test_moments_are_kept_to_the_millisecond(ledger, at_ms):
    ledger.ledger.record(batch_of(an_envelope(created_at_ms=Millis(at_ms))))
    assert ledger.rows.find(TASK).spec.created_at_ms == at_ms


def test_an_unknown_task_is_nowhere(ledger):
    assert ledger.rows.find(TASK) is None
    assert ledger.rows.fingerprint(TASK) is None
    assert ledger.rows.payload(TASK, NOW) is None


def a_run(first, following, **changes):
    values = {"topic": "tasks.events", "partition": 0, "as_of_ms": Millis(NOW + following)}
    return Applied(**values | changes, first=first, next=following)


def applied(ledger, *runs):
    for run in runs:
        ledger.ledger.record(LedgerBatch(applied=[run]))
    return dict(ledger.rows.applied())


def test_positions_grow_with_the_unbroken_prefix(ledger):
    assert applied(ledger, a_run(0, 5), a_run(5, 9)) == {("tasks.events", 0): 9}


def test_positions_are_never_lowered(ledger):
    assert applied(ledger, a_run(0, 9), a_run(0, 5)) == {("tasks.events", 0): 9}


def test_positions_never_jump_over_a_gap(ledger):
    assert applied(ledger, a_run(0, 5), a_run(7, 9)) == {("tasks.events", 0): 5}


def test_a_run_that_overlaps_reaches_further(ledger):
    assert applied(ledger, a_run(0, 5), a_run(3, 9)) == {("tasks.events", 0): 9}


def test_each_partition_has_its_own_position(ledger):
    other = a_run(0, 3, partition=1)
    assert applied(ledger, a_run(0, 5), other) == {("tasks.events", 0): 5, ("tasks.events", 1): 3}


def a_lost_record(**changes):
    values = {"topic": "tasks.pending", "partition": 1, "offset": 7, "member": 0}
    value = {"reason": "no parcel", "value": b"\x00\xff", "at_ms": NOW}
    return Quarantined(**values | value | changes)


def test_a_record_is_quarantined_once(ledger):
    for reason in ("no parcel", "told again"):
        ledger.ledger.record(LedgerBatch(quarantined=[a_lost_record(reason=reason)]))
    assert ledger.quarantine() == [("tasks.pending", 1, 7, 0, "no parcel", b"\x00\xff")]


def test_members_of_one_parcel_are_quarantined_apart(ledger):
    members = [a_lost_record(member=0), a_lost_record(member=3)]
    ledger.ledger.record(LedgerBatch(quarantined=members))
    assert len(ledger.quarantine()) == 2


BEYOND = {
    "more attempts than allowed": lambda task: batch_of(replace(task, attempt=5)),
    "a turn before the first": lambda task: batch_of(replace(task, turn=0)),
    "a negative generation": lambda task: batch_of(replace(task, generation=-1)),
    "a negative token": lambda task: batch_of(started(task, token=-1)),
    "a negative number of losses": lambda task: batch_of(started(task, losses=-1)),
}


@pytest.mark.parametrize("what", BEYOND)
def test_an_illegal_row_is_refused_and_nothing_of_its_batch_is_kept(ledger, what):
    illegal = BEYOND[what](an_envelope())
    legal = batch_of(an_envelope(id=TaskId(TASK[:-1] + "2")))
    with pytest.raises(LedgerRefused):
        ledger.ledger.record(
            LedgerBatch(
                rows=[*legal.rows, *illegal.rows],
                history=[*legal.history, *illegal.history],
                applied=[a_run(0, 5)],
            )
        )
    assert (ledger.table(), ledger.history(), ledger.rows.applied()) == ([], [], {})


def test_a_ledger_that_refused_takes_the_next_batch(ledger):
    with pytest.raises(LedgerRefused):
        ledger.ledger.record(batch_of(an_envelope(turn=0)))
    ledger.ledger.record(batch_of(an_envelope()))
    assert len(ledger.table()) == 1


@pytest.fixture
def tables(request):
    """Return only the real tables, for values that PostgreSQL cannot store."""
    _, app = request.getfixturevalue("database")
    tables = PostgresTables(app)
    yield tables
    tables.close()


UNHOLDABLE = {
    "an id that is none": {"id": "x"},
    "a NUL in the payload": {"payload": Raw(b'"\\u0000"')},
    "half a character": {"payload": Raw(b'"\\ud800"')},
    "no JSON": {"payload": Raw(b"{")},
    "a number beyond 64 bits": {"generation": 2**63},
    "a NUL in a text": {"fingerprint": "\0"},
    "a moment out of this world": {"created_at_ms": 10**18},
    "a text that no index can hold": {"tenant": random.Random(1).randbytes(5_000).hex()},
    "JSON nested too deep": {"payload": Raw(b"[" * 50_000 + b"]" * 50_000)},
}


@pytest.mark.parametrize("what", UNHOLDABLE)
def test_what_postgresql_cannot_hold_is_refused(tables, what):
    with pytest.raises(LedgerRefused):
        tables.ledger.record(batch_of(an_envelope(**UNHOLDABLE[what])))
    assert tables.table() == []


def test_a_refusal_does_not_quote_the_row(tables):
    with pytest.raises(LedgerRefused) as refused:
        tables.ledger.record(batch_of(an_envelope(turn=0, metadata={"pin": "7261-canary"})))
    assert "canary" not in str(refused.value)
    assert "counters_are_sane" in str(refused.value)


ROWS = (
    "(id, tenant, type, generation, turn, rank, token, largest_token, attempt, losses, status, {})"
    " VALUES "
)
FIRST = "(gen_random_uuid(), 'default', 'echo', 1, 1, 0, 0, 0, 1, 0, "
ILLEGAL = {
    "an unknown status": ("reason", "'lost', NULL"),
    "an end without a moment": ("reason", "'dead', 'failed'"),
    "a moment without an end": ("finished_at", "'queued', now()"),
    "a result without success": ("result", "'queued', '1'"),
    "success without a result": ("finished_at", "'succeeded', now()"),
    "a death without a reason": ("finished_at", "'dead', now()"),
    "running, but never started": ("reason", "'running', NULL"),
    "retrying without a time": ("reason", "'retrying', 'busy'"),
    "a next attempt without waiting for it": ("next_attempt", "'queued', 2"),
    "half a body": ("submission", "'queued', 's1'"),
}


@pytest.mark.parametrize("what", ILLEGAL)
def test_the_tables_refuse_what_cannot_be(database, what):
    column, values = ILLEGAL[what]
    statement = f"INSERT INTO tasks {ROWS.format(column)} {FIRST} {values})"
    _, app = database
    with psycopg.connect(app) as connection, pytest.raises(psycopg.errors.CheckViolation):
        connection.execute(statement.encode())


@pytest.mark.parametrize("table", ["facts", "quarantine"])
@pytest.mark.parametrize("verb", ["UPDATE {} SET topic = topic", "DELETE FROM {}", "TRUNCATE {}"])
def test_the_application_cannot_rewrite_history(database, table, verb):
    _, app = database
    statement = verb.format(table).replace("topic", "kind" if table == "facts" else "topic")
    refused = pytest.raises(psycopg.errors.InsufficientPrivilege)
    with psycopg.connect(app) as connection, refused:
        connection.execute(statement.encode())


def test_the_application_cannot_remove_tasks(database):
    _, app = database
    refused = pytest.raises(psycopg.errors.InsufficientPrivilege)
    with psycopg.connect(app) as connection, refused:
        connection.execute("DELETE FROM tasks")


def test_a_ledger_that_is_away_is_said_to_be():
    tables = PostgresTables("postgresql://taskmill_app@127.0.0.1:1/taskmill")
    with pytest.raises(StoreUnavailable):
        tables.ledger.record(batch_of(an_envelope()))
    with pytest.raises(StoreUnavailable):
        tables.rows.find(TASK)


def test_a_connection_that_was_cut_is_made_anew(database, tables):
    owner, _ = database
    tables.rows.find(TASK)
    with psycopg.connect(owner.replace("taskmill_owner@", "postgres@")) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE usename = 'taskmill_app' AND datname = current_database()"
        )
    with suppress(StoreUnavailable):  # it depends on whether the cut was noticed before the call
        tables.rows.find(TASK)
    assert tables.rows.find(TASK) is None


def test_the_history_keeps_facts_to_the_byte(ledger):
    task = an_envelope()
    fact = succeeded(task, result=Raw(b'{"x": 1.10}'))
    ledger.ledger.record(batch_of(task, fact))
    answer = {entry["kind"]: (entry["at_ms"], entry["body"]) for entry in ledger.history()}
    assert answer == {
        "TaskSubmitted": (NOW, "{}"),
        "TaskSucceeded": (fact.at_ms, msgspec.json.encode(fact).decode()),
    }
