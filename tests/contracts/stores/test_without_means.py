"""Without DNS or descriptors a process names the unavailable store, and recovers."""

import resource
from contextlib import closing, contextmanager

import pytest

from taskmill.core.errors import StoreUnavailable
from taskmill.stores.kafka.bus import KafkaBus
from taskmill.stores.kafka.ends import KafkaLogEnds
from taskmill.stores.postgres.connection import Database
from taskmill.stores.redis.session import Session
from tests.builders import a_fresh_envelope
from tests.waiting import eventually


def ask_redis(url):
    session = Session(url)
    return session, lambda: session.command("PING")


def ask_postgres(dsn):
    database = Database(dsn)
    return database, lambda: database.fetch(b"SELECT 1 AS one", {})


def ask_kafka(brokers):
    ends = KafkaLogEnds(brokers)
    return ends, ends.ends


def write_to_kafka(brokers):
    bus = KafkaBus(brokers)

    def write():
        bus.send_pending([a_fresh_envelope()])
        bus.flush()

    return bus, write


STORES = {
    "Redis": (ask_redis, "redis://nobody.invalid:6379/0"),
    "PostgreSQL": (ask_postgres, "postgresql://taskmill_app@nobody.invalid:5432/taskmill"),
    "Kafka": (ask_kafka, "nobody.invalid:9092"),
    "Kafka, to write": (write_to_kafka, "nobody.invalid:9092"),
}


@contextmanager
def nothing_more_to_open():
    """Prevent this process from opening files and sockets; open ones stay open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("store", STORES)
def test_a_name_that_nobody_knows_is_a_store_that_is_away(store):
    opened, nowhere = STORES[store]
    client, ask = opened(nowhere)
    with closing(client), pytest.raises(StoreUnavailable, match=store.partition(",")[0]):
        ask()


@pytest.mark.parametrize("store", STORES)
def test_without_a_file_descriptor_a_store_is_away_and_then_there_again(store, request):
    fixture = {"Redis": "valkey", "PostgreSQL": "postgres"}.get(store, "brokers")
    found = request.getfixturevalue(fixture)
    address = getattr(found, "app", found)
    opened, _ = STORES[store]
    warmed, ask = opened(address)
    with closing(warmed):
        comes_back(ask)  # what is imported on first use needs descriptors too
    client, ask = opened(address)
    with closing(client):
        with nothing_more_to_open(), pytest.raises(StoreUnavailable, match=store.partition(",")[0]):
            ask()
        comes_back(ask)


def comes_back(ask):
    def is_there():
        try:
            ask()
        except StoreUnavailable:
            return False
        return True

    eventually(is_there, within=60, reason="the store answers")
