"""Retention deletes old data in steps; young and unfinished data stays."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import psycopg
import pytest

from taskmill.core.counting import Count
from taskmill.core.lifetimes import AT_LEAST_KEPT, Kept
from taskmill.core.task import Millis
from taskmill.ledger.projection import LedgerBatch, Quarantined
from taskmill.ledger.retention import Retention
from taskmill.stores.memory.enqueued import MemoryRequests
from taskmill.stores.memory.outbox import MemoryOutbox
from taskmill.stores.memory.process import MemoryCounters
from taskmill.stores.memory.retention import MemoryArchive
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.retention import PostgresArchive
from tests.builders import a_fresh_envelope, died, now_ms, succeeded
from tests.contracts.ledgers import MemoryTables, batch_of

MONTH = timedelta(days=30)
DAY_MS = 86_400_000


@pytest.fixture
def archive(ledger, request):
    if isinstance(ledger, MemoryTables):
        yield MemoryArchive(lambda: ledger.ledger, MemoryOutbox(), MemoryRequests(now_ms), now_ms)
        return
    database = Database(request.getfixturevalue("database")[1])
    yield PostgresArchive(database)
    database.close()


def days_ago(days):
    at_ms = Millis(now_ms() - int(days * DAY_MS))
    return a_fresh_envelope(generation=at_ms, created_at_ms=at_ms)


def kept(ledger):
    return {row["id"] for row in ledger.table()}


@pytest.mark.parametrize("end", [succeeded, died])
def test_an_old_task_that_ended_goes(ledger, archive, end):
    old, young = days_ago(31), days_ago(29)
    ledger.ledger.record(batch_of(old, end(old), young, end(young)))
    assert archive.forget(Kept.TASKS, older_than=MONTH, most=10) == 1
    assert kept(ledger) == {young.id}


def test_an_old_task_that_did_not_end_or_ended_lately_stays(ledger, archive):
    waiting, redriven = days_ago(100), days_ago(100)
    ledger.ledger.record(batch_of(waiting, redriven, succeeded(redriven, at_ms=now_ms())))
    assert archive.forget(Kept.TASKS, older_than=MONTH, most=10) == 0
    assert kept(ledger) == {waiting.id, redriven.id}


def test_it_goes_in_parts(ledger, archive):
    tasks = [days_ago(31) for _ in range(5)]
    ledger.ledger.record(batch_of(*tasks, *map(succeeded, tasks)))
    parts = [archive.forget(Kept.TASKS, older_than=MONTH, most=2) for _ in range(4)]
    assert parts == [2, 2, 1, 0]


def test_nothing_young_goes_whatever_is_asked(ledger, archive):
    task, old = days_ago(3.9), days_ago(4.1)
    ledger.ledger.record(batch_of(task, succeeded(task), old, succeeded(old)))
    for kind in Kept:
        archive.forget(kind, older_than=-MONTH, most=10)
    assert kept(ledger) == {task.id}


def test_old_quarantine_goes(ledger, archive):
    lost = [
        Quarantined(
            topic="tasks.events",
            partition=0,
            offset=number,
            member=0,
            reason="no parcel",
            value=b"x",
            at_ms=Millis(now_ms() - days * DAY_MS),
        )
        for number, days in enumerate((31, 29))
    ]
    ledger.ledger.record(LedgerBatch(quarantined=lost))
    assert archive.forget(Kept.QUARANTINE, older_than=MONTH, most=10) == 1
    assert [offset for _, _, offset, *_ in ledger.quarantine()] == [1]


def test_history_that_is_old_goes(ledger, archive):
    old, young = days_ago(100), days_ago(1)
    ledger.ledger.record(batch_of(old, succeeded(old), young, succeeded(young)))
    assert archive.forget(Kept.HISTORY, older_than=MONTH, most=10) == 2
    assert {entry["id"] for entry in ledger.history()} == {young.id}


def test_all_kinds_are_kept_longer_than_a_key(ledger, archive):
    task = days_ago(31)
    ledger.ledger.record(batch_of(task, succeeded(task)))
    counters = MemoryCounters()
    stores = SimpleNamespace(archive=archive, counters=counters)
    assert Retention(stores, keeps=MONTH).forget_old() == 3  # with its history
    assert counters.total(Count.RETAINED, kind="tasks") == 1
    assert timedelta(hours=72) < AT_LEAST_KEPT


@pytest.fixture
def owner(database):
    with psycopg.connect(database[0], autocommit=True) as connection:
        yield connection


@pytest.fixture
def real(database):
    opened = Database(database[1])
    yield PostgresArchive(opened)
    opened.close()


def months(owner):
    rows = owner.execute("SELECT relid::regclass::text FROM pg_partition_tree('facts')").fetchall()
    return {name for (name,) in rows if name not in {"facts", "facts_outside_months"}}


def test_months_are_made_ahead_once(owner, real):
    (latest,) = [max(months(owner))]
    owner.execute(f"DROP TABLE {latest}")
    assert real.make_months(ahead=13) == 1
    assert latest in months(owner)
    assert real.make_months(ahead=13) == 0


def test_a_month_whose_facts_came_before_it_stays_where_they_are(owner, real):
    (latest,) = [max(months(owner))]
    owner.execute(f"DROP TABLE {latest}")
    first = datetime.strptime(latest, "facts_%Y_%m").replace(tzinfo=UTC)
    owner.execute(
        "INSERT INTO facts VALUES (gen_random_uuid(), 1, 1, 'TaskStarted', '', %s, '{}')",
        (first,),
    )
    assert real.make_months(ahead=13) == 0


def test_a_month_goes_whole_when_all_of_it_is_old(owner, real):
    owner.execute(
        "CREATE TABLE facts_2020_01 PARTITION OF facts"
        " FOR VALUES FROM ('2020-01-01+00') TO ('2020-02-01+00')"
    )
    assert real.forget(Kept.HISTORY, older_than=MONTH, most=10) == 1
    assert "facts_2020_01" not in months(owner)
    assert len(months(owner)) >= 13


def test_sent_rows_of_the_outbox_go_and_unsent_ones_stay(owner, real):
    row = (
        "INSERT INTO outbox (task_id, submission, generation, envelope, fingerprint, published_at)"
        " VALUES (gen_random_uuid(), 's', 1, '{}', 'f', %s)"
    )
    for published_at in ("2020-01-01", None, datetime.now(UTC)):
        owner.execute(row, (published_at,))
    assert real.forget(Kept.OUTBOX, older_than=MONTH, most=10) == 1
    assert owner.execute("SELECT count(*) FROM outbox").fetchone() == (2,)


def test_what_was_enqueued_goes_once_it_is_done_or_parked_long_enough(owner, real):
    row = (
        "INSERT INTO enqueued (task_id, submission, request, done_at, parked_at, parked_reason,"
        " parked_detail, created_at)"
        " VALUES (gen_random_uuid(), 's', '{}', %s, %s, %s, %s, '2020-01-01')"
    )
    now = datetime.now(UTC)
    for done_at, parked_at in (
        ("2020-01-01", None),
        (None, "2020-01-01"),
        (now, None),
        (None, now),
        (None, None),
    ):
        why = (None, None) if parked_at is None else ("invalid_payload", "it does not fit")
        owner.execute(row, (done_at, parked_at, *why))
    assert real.forget(Kept.ENQUEUED, older_than=MONTH, most=1) == 1
    assert real.forget(Kept.ENQUEUED, older_than=MONTH, most=10) == 1
    assert owner.execute("SELECT count(*) FROM enqueued").fetchone() == (3,)


MANY = 20_000
YOUNG = {
    Kept.TASKS: (
        "INSERT INTO tasks (id, tenant, type, status, generation, turn, rank, token,"
        " largest_token, attempt, losses, submission, submitted, fingerprint, payload,"
        " payload_size, metadata, max_attempts, timeout_seconds, created_at, finished_at)"
        " SELECT gen_random_uuid(), 'default', 'echo', 'cancelled', 1, 1, 4, 1, 1, 1, 0, 's', 1,"
        " 'f', '{}', 2, '{}', 4, 30, now(), now()"
    ),
    Kept.QUARANTINE: (
        'INSERT INTO quarantine (topic, partition, "offset", member, reason, value, at)'
        " SELECT 'tasks.events', 0, number, 0, 'no parcel', 'x', now()"
    ),
    Kept.OUTBOX: (
        "INSERT INTO outbox (task_id, submission, generation, envelope, fingerprint, published_at)"
        " SELECT gen_random_uuid(), 's', 1, '{}', 'f', now()"
    ),
    Kept.ENQUEUED: (
        "INSERT INTO enqueued (task_id, submission, request, done_at)"
        " SELECT gen_random_uuid(), 's', '{}', now()"
    ),
}


@pytest.mark.parametrize("kind", YOUNG)
def test_what_is_old_is_found_without_a_scan_of_what_is_young(owner, kind):
    """The history goes by whole months: nobody looks for its rows."""
    owner.execute(f"{YOUNG[kind]} FROM generate_series(1, {MANY}) AS number")
    owner.execute(f"ANALYZE {kind}")
    before = rows_scanned(owner, kind)
    owner.execute(f"SELECT forget_{kind}(now() - '30 days'::interval, 100)")
    assert rows_scanned(owner, kind) == before


def rows_scanned(owner, table):
    """Return how many rows full table scans have read so far."""
    owner.execute("SELECT pg_stat_force_next_flush()")
    query = "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = %s"
    return owner.execute(query, (table,)).fetchone()


@pytest.mark.parametrize("table", ["tasks", "facts", "quarantine", "outbox", "enqueued"])
def test_the_application_itself_removes_nothing(database, table):
    with (
        psycopg.connect(database[1]) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - a name of ours
