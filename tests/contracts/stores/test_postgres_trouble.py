"""Failures in PostgreSQL are retried or reported, and never taken for success."""

import threading
import time
from contextlib import closing, contextmanager
from datetime import timedelta
from threading import Barrier, Thread

import psycopg
import pytest
from psycopg import sql

from taskmill.core.errors import StoreUnavailable
from taskmill.stores.guard import QUICK, Guard
from taskmill.stores.postgres.connection import RETRIES_OF_A_LOST_RACE, Database
from taskmill.stores.postgres.ledger import PostgresLedger
from taskmill.stores.postgres.outbox import PostgresOutbox
from tests.builders import a_fresh_envelope
from tests.contracts.ledgers import batch_of
from tests.contracts.stores.test_redis_trouble import standing_still_after_a_second
from tests.faults.proxy import Proxy

LOST_RACES = {"serialization failure": "40001", "deadlock": "40P01"}
AWAY = {
    "read only": "25006",
    "disk full": "53100",
    "out of memory": "53200",
    "too many connections": "53300",
    "lock not available": "55P03",
    "statement timeout": "57014",
    "shutdown": "57P01",
    "cannot connect now": "57P03",
    "i/o error": "58030",
}


@pytest.fixture
def dsns(database):
    owner, app = database
    return owner, app


@pytest.fixture
def opened(dsns):
    made = []

    def make(**how):
        made.append(Database(dsns[1], **how))
        return made[-1]

    yield make
    for one in made:
        one.close()


def complain(connection, code):
    """Let the server itself raise an error."""
    text = sql.SQL("DO $$ BEGIN RAISE EXCEPTION 'told to' USING ERRCODE = {}; END $$")
    connection.execute(text.format(sql.Literal(code)))


def test_a_transaction_whose_client_vanished_is_ended_by_the_server(opened):
    (setting,) = opened().fetch(b"SHOW idle_in_transaction_session_timeout", {})
    assert list(setting.values()) == ["30s"]


@pytest.mark.parametrize("code", LOST_RACES.values(), ids=LOST_RACES)
def test_work_that_lost_a_race_is_done_again(opened, code):
    tries = []

    def work(connection):
        tries.append(1)
        if len(tries) <= RETRIES_OF_A_LOST_RACE:
            complain(connection, code)
        return "done"

    assert opened().run(work) == "done"
    assert len(tries) == RETRIES_OF_A_LOST_RACE + 1


def test_work_that_loses_every_race_is_given_up_after_three_retries(opened):
    tries = []

    def work(connection):
        tries.append(1)
        complain(connection, "40001")

    with pytest.raises(StoreUnavailable, match="told to"):
        opened().run(work)
    assert len(tries) == RETRIES_OF_A_LOST_RACE + 1


def test_two_that_wait_for_each_other_both_get_through(opened, dsns):
    with psycopg.connect(dsns[0], autocommit=True) as owner:
        owner.execute("CREATE TABLE pair (id int PRIMARY KEY, n int NOT NULL)")
        owner.execute("GRANT ALL ON pair TO taskmill_app")
        owner.execute("INSERT INTO pair VALUES (1, 0), (2, 0)")
    both_hold_one = Barrier(2)

    def add(database, order):
        has_met = []

        def work(connection):
            for number in order:
                connection.execute("UPDATE pair SET n = n + 1 WHERE id = %s", (number,))
                if not has_met:
                    has_met.append(both_hold_one.wait(timeout=30))

        database.run(work)

    threads = [Thread(target=add, args=(opened(), order)) for order in ((1, 2), (2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert [row["n"] for row in opened().fetch(b"SELECT n FROM pair", {})] == [2, 2]


@pytest.mark.parametrize("code", AWAY.values(), ids=AWAY)
def test_a_server_in_trouble_is_said_to_be_away_and_is_asked_again(opened, code):
    database = opened()
    with pytest.raises(StoreUnavailable, match="PostgreSQL cannot be reached"):
        database.run(lambda connection: complain(connection, code))
    assert database.fetch(b"SELECT 1 AS one", {}) == [{"one": 1}]


def test_a_view_that_gains_a_column_is_read_again_by_those_who_read_it_before(opened, dsns):
    database, every_column = opened(), b"SELECT * FROM shown"
    with psycopg.connect(dsns[0], autocommit=True) as owner:
        owner.execute("CREATE VIEW shown AS SELECT 1 AS one")
        owner.execute("GRANT SELECT ON shown TO taskmill_app")
        while not database.fetch(b"SELECT FROM pg_prepared_statements WHERE NOT from_sql", {}):
            assert database.fetch(every_column, {}) == [{"one": 1}]
        owner.execute("CREATE OR REPLACE VIEW shown AS SELECT 1 AS one, 2 AS two")
    assert database.fetch(every_column, {}) == [{"one": 1, "two": 2}]


class AnswersToCommit:
    """Cuts the connection at the first reply to a COMMIT: committed, but unconfirmed."""

    def __init__(self):
        self._has_committed = False

    def __call__(self):
        return self

    def asked(self, part):
        self._has_committed = self._has_committed or b"COMMIT" in part

    def is_cut_at(self, _part):
        return self._has_committed


@contextmanager
def a_lost_answer(dsn):
    """Yield a database whose next reply to a COMMIT is lost."""
    port = int(dsn.rpartition("/")[0].rpartition(":")[2])
    with Proxy(upstream=port) as proxy:
        proxy.weather.cuts = AnswersToCommit()
        with closing(Database(dsn.replace(f":{port}/", f":{proxy.port}/"))) as database:
            yield database
        assert proxy.cuts == 1


def test_a_task_in_the_outbox_stands_once_though_the_answer_to_its_commit_was_lost(opened, dsns):
    task = a_fresh_envelope()
    with a_lost_answer(dsns[1]) as cut_off, pytest.raises(StoreUnavailable):
        PostgresOutbox(cut_off).add([task])
    outbox = PostgresOutbox(opened())
    assert len(outbox.unsent(after=0, most=10)) == 1
    outbox.add([task])
    assert len(outbox.unsent(after=0, most=10)) == 1


def test_facts_are_told_once_though_the_answer_to_their_commit_was_lost(opened, dsns):
    batch = batch_of(a_fresh_envelope())
    with a_lost_answer(dsns[1]) as cut_off, pytest.raises(StoreUnavailable):
        PostgresLedger(cut_off).record(batch)
    database = opened()
    PostgresLedger(database).record(batch)
    counts = b"SELECT (SELECT count(*) FROM tasks) AS rows, (SELECT count(*) FROM facts) AS facts"
    assert database.fetch(counts, {}) == [{"rows": 1, "facts": 1}]


def test_a_read_only_server_acknowledges_nothing_and_is_left_for_the_one_that_is_not(opened, dsns):
    outbox, ledger = PostgresOutbox(opened()), PostgresLedger(opened())
    name = dsns[0].rpartition("/")[2]
    with psycopg.connect(dsns[0], autocommit=True) as owner:
        setting = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
        owner.execute(setting.format(sql.Identifier(name), sql.SQL("on")))
        with pytest.raises(StoreUnavailable, match="read-only"):
            outbox.add([a_fresh_envelope()])
        with pytest.raises(StoreUnavailable, match="read-only"):
            ledger.record(batch_of(a_fresh_envelope()))
        owner.execute("SET default_transaction_read_only = off")
        owner.execute(setting.format(sql.Identifier(name), sql.SQL("off")))
    outbox.add([a_fresh_envelope()])
    ledger.record(batch_of(a_fresh_envelope()))
    assert len(outbox.unsent(after=0, most=10)) == 1


def test_without_a_free_connection_it_is_away_and_later_there(opened, dsns):
    name = dsns[0].rpartition("/")[2]
    limit = sql.SQL("ALTER DATABASE {} CONNECTION LIMIT {}")
    with psycopg.connect(dsns[0], autocommit=True) as owner:
        owner.execute(limit.format(sql.Identifier(name), sql.Literal(1)))
        outbox = PostgresOutbox(opened())
        with pytest.raises(StoreUnavailable, match="too many connections"):
            outbox.has_room(1)
        owner.execute(limit.format(sql.Identifier(name), sql.Literal(-1)))
    assert outbox.has_room(1)


def test_a_statement_that_takes_too_long_leaves_nothing_behind(opened):
    database = opened()

    def work(connection):
        connection.execute("SET LOCAL statement_timeout = '50ms'")
        connection.execute(
            "INSERT INTO outbox (task_id, submission, generation, envelope, fingerprint)"
            " VALUES (gen_random_uuid(), 's', 1, '{}', 'f')"
        )
        connection.execute("SELECT pg_sleep(30)")

    with pytest.raises(StoreUnavailable, match="statement timeout"):
        database.run(work)
    assert PostgresOutbox(database).unsent(after=0, most=10) == []


def test_a_server_that_hangs_is_cut_off_and_nobody_waits_for_it_twice(opened):
    clock_ms = standing_still_after_a_second()
    database = opened(guard=Guard("PostgreSQL", tolerance=QUICK, clock_ms=clock_ms))
    began = time.monotonic()
    with pytest.raises(StoreUnavailable):
        database.fetch(b"SELECT pg_sleep(60)", {}, within=timedelta(milliseconds=500))
    assert time.monotonic() - began < 30
    with pytest.raises(StoreUnavailable, match="did not respond a moment ago"):
        database.fetch(b"SELECT 1", {})


def test_who_has_little_time_is_cut_off_before_who_came_first_and_has_more(opened):
    patient, hasty = opened(), opened()
    patient.fetch(b"SELECT 1", {})
    with pytest.raises(StoreUnavailable) as answer:
        hasty.fetch(b"SELECT pg_sleep(60)", {}, within=timedelta(milliseconds=300))
    assert "statement timeout" not in str(answer.value)  # the server would have ended it later
    assert patient.fetch(b"SELECT 1 AS one", {}) == [{"one": 1}]


def test_work_that_is_done_in_time_takes_no_thread_and_leaves_nobody_to_be_cut_off(opened):
    database = opened()
    soon = timedelta(milliseconds=300)

    def threads(connection):
        connection.execute("SELECT 1")
        return set(threading.enumerate())

    first, *others = [database.run(threads, within=soon) for _ in range(3)]
    assert set().union(*others) <= first
    assert len(database.fetch(b"SELECT pg_sleep(1)", {})) == 1


def test_a_connection_that_the_server_ended_meanwhile_costs_nobody_a_call(opened, dsns):
    outbox = PostgresOutbox(opened())
    task = a_fresh_envelope()
    outbox.add([task])
    with psycopg.connect(dsns[0].replace("taskmill_owner@", "postgres@"), autocommit=True) as owner:
        owner.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    outbox.add([task])
    assert len(outbox.unsent(after=0, most=10)) == 1
