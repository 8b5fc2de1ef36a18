"""Rebuilds from a real ledger: their duration, and servers that fail meanwhile."""

import shutil
import signal
import time
from contextlib import suppress
from datetime import timedelta
from types import SimpleNamespace

import psycopg
import pytest

from taskmill.core.errors import StoreUnavailable
from taskmill.core.owed import Cold
from taskmill.core.task import Status
from taskmill.recovery.rebuild import Rebuild
from taskmill.recovery.rebuild_lanes import LaneRebuild
from taskmill.stores.memory.log import MemoryLog
from taskmill.stores.memory.process import MemoryCounters
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.outbox import PostgresOutbox
from taskmill.stores.postgres.rules import PostgresRules
from taskmill.stores.postgres.shelf import PostgresShelf
from taskmill.stores.postgres.whole_rows import PostgresWholeRows
from taskmill.stores.redis.lanes import RedisColdLanes, RedisLanes
from taskmill.stores.redis.placements import RedisPlacements
from taskmill.stores.redis.recovery import RedisColdShards
from taskmill.stores.redis.session import Session
from taskmill.stores.redis.shards import open_shards
from taskmill_local.stores import valkey as valkey_server
from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.server import Server
from tests.builders import now_ms
from tests.contracts.hot import CATALOGUE, SHARDS, InValkey

AT_ONCE = timedelta(0)
MANY = """
INSERT INTO tasks (
    id, tenant, type, status, generation, turn, rank, token, largest_token, attempt, losses,
    finished_at, result, submission, submitted, fingerprint, idempotency_key, payload,
    payload_size, metadata, max_attempts, timeout_seconds, created_at
)
SELECT
    gen_random_uuid(), 'default', 'echo',
    CASE number %% 2 WHEN 0 THEN 'succeeded' ELSE 'queued' END,
    extract(EPOCH FROM now()) * 1000, 1, CASE number %% 2 WHEN 0 THEN 4 ELSE 0 END, 7, 7, 1, 0,
    CASE number %% 2 WHEN 0 THEN now() END, CASE number %% 2 WHEN 0 THEN '1'::json END,
    's', extract(EPOCH FROM now()) * 1000, 'f', CASE number %% 3 WHEN 0 THEN number::text END,
    '{"say": "hello"}', 16, '{}', 4, 30, now()
FROM generate_series(1, %s) AS number
"""

ENDED = "SELECT id::text FROM tasks WHERE status = 'succeeded' LIMIT 1"


class Stand:
    """A real Redis, a real ledger, and an empty log."""

    def __init__(self, url, dsn):
        self.session, self._database = Session(url), Database(dsn)
        self.hot = InValkey(self.session)
        self._stores = SimpleNamespace(
            bus=MemoryLog(now_ms),
            clock=now_ms,
            cold_lanes=RedisColdLanes(self.session, CATALOGUE),
            counters=MemoryCounters(),
            lanes=RedisLanes(self.session, CATALOGUE),
            log_ends=MemoryLog(now_ms),
            outbox=PostgresOutbox(self._database),
            placements=RedisPlacements(self.session, shards=SHARDS),
            rules=PostgresRules(self._database),
            shards=RedisColdShards(self.session, shards=SHARDS),
            shelf=PostgresShelf(self._database),
            whole_rows=PostgresWholeRows(self._database),
        )

    def rebuild(self, nonce="word"):
        return Rebuild(self._stores, nonce=nonce, grace=AT_ONCE, pause=lambda _: None).run()

    def rebuild_lanes(self, nonce="word"):
        rebuild = LaneRebuild(self._stores, nonce=nonce, grace=AT_ONCE, pause=lambda _: None)
        return rebuild.run()

    def in_flight_and_in_line(self):
        (count,) = self._stores.lanes.count(["echo"])
        return count.in_flight + sum(one.waiting for one in count.classes.values())

    def close(self):
        self.session.close()
        self._database.close()


@pytest.fixture
def stand(valkey, database):
    stand = Stand(valkey, database[1])
    with psycopg.connect(database[0], autocommit=True) as owner:
        stand.fill = lambda number: owner.execute(MANY, (number,))
        yield stand
    stand.close()


@pytest.mark.parametrize("rows", [1_000, 10_000, 100_000])
def test_a_rebuild_takes_seconds(stand, rows):
    stand.fill(rows)
    stand.hot.forget()
    began = time.monotonic()
    assert stand.rebuild() == rows
    span = time.monotonic() - began
    print(f"\n{rows} rows restored in {span:.2f} s")  # noqa: T201 - a figure to look at
    assert not RedisColdShards(stand.session, shards=SHARDS).are_some()
    assert span < 120


@pytest.mark.parametrize("rows", [1_000, 100_000])
def test_a_rebuild_of_a_lane_takes_seconds(stand, rows):
    stand.fill(rows)
    stand.hot.forget()
    stand.rebuild()
    began = time.monotonic()
    assert stand.rebuild_lanes() == rows // 2
    span = time.monotonic() - began
    print(f"\n{rows // 2} tasks placed in {span:.2f} s")  # noqa: T201 - a figure to look at
    assert stand.in_flight_and_in_line() == rows // 2
    assert span < 60


@pytest.mark.parametrize("persists", [False, True], ids=["without its file", "on its file"])
def test_a_killed_server_that_comes_back_is_rebuilt(runner, stores_home, database, persists):
    home = stores_home.parent / f"killed-{persists}"
    prepare_home(home)
    server = Server("Valkey", home, stop_signal=signal.SIGKILL)
    stand = Stand(runner.run(valkey_server.start_valkey(server)), database[1])
    try:
        with psycopg.connect(database[0], autocommit=True) as owner:
            owner.execute(MANY, (100,))
            (task,) = owner.execute(ENDED).fetchone()
        stand.hot.forget()
        run_id = stand.session.run_id()
        stand.rebuild("first")
        runner.run(server.stop(timedelta(seconds=10)))
        if not persists:
            shutil.rmtree(server.folder)
        server = Server("Valkey", home, stop_signal=signal.SIGKILL)
        runner.run(valkey_server.start_valkey(server))
        with suppress(StoreUnavailable):
            stand.session.command("PING")  # the connection to the one that was killed
        assert stand.session.run_id() != run_id
        assert stand.hot.records().read([task]) == [Cold()]
        made = stand.rebuild()
        assert made == 100 if not persists else made <= 100
        assert stand.hot.records().read([task])[0].status is Status.SUCCEEDED
    finally:
        stand.close()
        runner.run(server.stop(timedelta(seconds=10)))


def test_over_what_the_server_still_has_nothing_comes_twice(stand):
    stand.fill(1_000)
    stand.hot.forget()
    stand.rebuild()
    stand.hot.become_another_server()
    stand.rebuild("another")
    open_shards(stand.session, SHARDS)
    records = stand.session.command("DBSIZE")
    assert 1_000 <= records <= 1_000 + SHARDS * 4
