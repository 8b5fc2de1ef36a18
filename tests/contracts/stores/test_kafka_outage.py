"""Tasks are accepted while a real broker fails and returns."""

import shutil
import tempfile
import time
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from taskmill.core import topics
from taskmill.stores.guard import Guard
from taskmill.stores.kafka.bus import KafkaBus
from taskmill.stores.kafka.ends import KafkaLogEnds
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.outbox import PostgresOutbox
from taskmill.stores.postgres.rows import PostgresRows
from taskmill.stores.redis.records import RedisRecords
from taskmill.stores.redis.session import Session
from taskmill.stores.redis.submission import RedisAdmission
from taskmill.submission.relay import Relay
from taskmill.submission.submission import Accepted, NotTaken, ReplayOf
from taskmill.submission.submit import Submitter
from taskmill_local.stores import kafka as kafka_store
from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.java import find_java
from taskmill_local.stores.server import Server
from taskmill_local.stores.topics import TopicPlan, create_topics
from tests.builders import a_fresh_envelope, a_request, now_ms, started
from tests.contracts.hot import SHARDS, InValkey

GRACE = timedelta(seconds=10)
PATIENCE = timedelta(seconds=4)


class Broker:
    """A broker that returns at the same address with all its data."""

    def __init__(self, runner, home):
        self._runner, self._home, self._server = runner, home, None

    def start(self):
        self._server = Server("Kafka", self._home)
        return self._runner.run(kafka_store.start_kafka(self._server, find_java()))

    def stop(self):
        server, self._server = self._server, None
        if server is not None:
            self._runner.run(server.stop(GRACE))


@pytest.fixture
def broker(runner):
    folder = Path(tempfile.mkdtemp(prefix="taskmill-"))
    prepare_home(folder)
    broker = Broker(runner, folder)
    try:
        yield broker
    finally:
        broker.stop()
        shutil.rmtree(folder)


@contextmanager
def a_gateway(brokers, valkey, dsn):
    guard = Guard("Kafka", tolerance=timedelta())
    session, database = Session(valkey), Database(dsn)
    InValkey(session)
    bus = KafkaBus(brokers, patience=PATIENCE, guard=guard)
    outbox = PostgresOutbox(database, cap=30)

    def take(*requests):
        stores = SimpleNamespace(
            admission=RedisAdmission(session, shards=SHARDS),
            bus=bus,
            records=RedisRecords(session, shards=SHARDS),
            ledger_rows=PostgresRows(database),
            outbox=outbox,
            clock=now_ms,
        )
        return Submitter(stores).submit(requests)

    try:
        yield take, outbox
    finally:
        bus.close()
        session.close()
        database.close()


def warm_up(brokers):
    """Make a new broker write once: its first write takes longer than a gateway waits."""
    bus = KafkaBus(brokers, patience=timedelta(seconds=60))
    bus.send_facts([started(a_fresh_envelope())])
    bus.flush()
    bus.close()


def timed(call, *given):
    began = time.monotonic()
    answer = call(*given)
    return answer, time.monotonic() - began


def test_an_outage_turns_nobody_away_up_to_the_cap(broker, valkey, database):
    brokers = broker.start()
    shape = TopicPlan(partitions=6, configs={})
    create_topics(brokers, dict.fromkeys([topics.PENDING, topics.EVENTS], shape))
    warm_up(brokers)
    with a_gateway(brokers, valkey, database[1]) as (take, outbox):
        (before,) = take(a_request())
        broker.stop()
        (first,), waited = timed(take, a_request("k", submission="first"))
        others, most = [], 0.0
        for _ in range(20):
            (receipt,), span = timed(take, a_request())
            others.append(receipt)
            most = max(most, span)
        (replay,) = take(a_request("k", submission="second"))
        refused = take(*(a_request() for _ in range(30)))
        assert not before.is_spilled
        assert {(type(one), one.is_spilled) for one in [first, *others]} == {(Accepted, True)}
        assert (type(replay), replay.task.id) == (ReplayOf, first.task.id)
        assert refused == [NotTaken()] * 30
        assert waited < 10
        assert most < 10
        broker.start()
        bus = KafkaBus(brokers)
        assert Relay(SimpleNamespace(outbox=outbox, bus=bus)).run() == 21
        assert Relay(SimpleNamespace(outbox=outbox, bus=bus)).run() == 0
        bus.close()
    ends = KafkaLogEnds(brokers)
    assert sum(end for (topic, _), end in ends.ends().items() if topic == topics.PENDING) > 1
    ends.close()
