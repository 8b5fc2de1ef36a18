"""TLS to each store: only a server with a valid certificate is accepted."""

from urllib.parse import urlsplit

import pytest

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.settings import Settings
from taskmill.stores.kafka.bus import KafkaBus
from taskmill.stores.kafka.ends import KafkaLogEnds
from taskmill.stores.postgres.connection import Database
from taskmill.stores.redis.session import Session
from tests.builders import an_envelope


@pytest.fixture
def env(authority):
    """Trust the temporary authority for every store."""
    return {
        f"TASKMILL_{name}_CA_FILE": str(authority.file) for name in ("KAFKA", "REDIS", "POSTGRES")
    }


def ask_redis(env, port):
    settings = Settings.from_env(
        env | {"TASKMILL_REDIS_URL": f"rediss://localhost:{port}/0"}, needs=("redis",)
    )
    session = Session(settings.redis)
    try:
        return session.command("PING")
    finally:
        session.close()


def ask_postgres(env, port):
    dsn = f"postgresql://taskmill_owner@localhost:{port}/taskmill?sslmode=verify-full"
    settings = Settings.from_env(env | {"TASKMILL_POSTGRES_DSN": dsn}, needs=("postgres",))
    database = Database(settings.postgres)
    try:
        return database.fetch(b"SELECT 1 AS one", {})
    finally:
        database.close()


def kafka_access(env, place, security="SSL"):
    answer = {"TASKMILL_KAFKA_BROKERS": place, "TASKMILL_KAFKA_SECURITY": security}
    return Settings.from_env(env | answer, needs=("kafka",)).kafka


def ask_kafka(env, port):
    ends = KafkaLogEnds(kafka_access(env, f"localhost:{port}"))
    try:
        return ends.ends()
    finally:
        ends.close()


@pytest.fixture
def port_of_valkey(valkey, fronts):
    return lambda show: fronts(valkey, show)


@pytest.fixture
def port_of_postgres(postgres, fronts):
    return lambda show: fronts(urlsplit(postgres).port, show, asks=True)


@pytest.fixture
def port_of_kafka(kafka, fronts):
    """Show a certificate; a good front would lead no further than to the broker's own address."""
    return lambda show: fronts(int(kafka["PLAINTEXT"].partition(":")[2]), show)


def test_redis_is_spoken_to_over_tls(env, port_of_valkey):
    assert ask_redis(env, port_of_valkey("good")) == b"PONG"


def test_postgres_is_spoken_to_over_tls(env, port_of_postgres):
    assert ask_postgres(env, port_of_postgres("good")) == [{"one": 1}]


def test_kafka_is_written_and_read_over_tls(env, kafka):
    bus, ends = (kind(kafka_access(env, kafka["SSL"])) for kind in (KafkaBus, KafkaLogEnds))
    before = ends.ends()[topics.PENDING, 0]
    bus.send_pending([an_envelope()])
    bus.flush()
    assert ends.ends()[topics.PENDING, 0] == before + 1
    bus.close()
    ends.close()


CASES = [
    ("expired", "its certificate has expired"),
    ("other_name", "its certificate is for another name"),
    (
        "unknown",
        "its certificate was not issued by a trusted authority; set one in TASKMILL_{}_CA_FILE",
    ),
]


@pytest.mark.parametrize(("show", "sentence"), CASES)
@pytest.mark.parametrize("store", ["redis", "kafka"])
def test_another_server_is_not_spoken_to(store, show, sentence, env, request):
    ask = {"redis": ask_redis, "kafka": ask_kafka}[store]
    port_of = request.getfixturevalue(f"port_of_{'valkey' if store == 'redis' else store}")
    with pytest.raises(StoreUnavailable) as refused:
        ask(env, port_of(show))
    assert sentence.format(store.upper()) in refused.value.why


@pytest.mark.parametrize(
    ("show", "words"),
    [
        ("expired", "its certificate has expired or"),
        ("other_name", 'server certificate for "elsewhere.example" does not match host name'),
        ("unknown", "set one in TASKMILL_POSTGRES_CA_FILE"),
    ],
)
def test_another_postgres_is_not_spoken_to(show, words, env, port_of_postgres):
    with pytest.raises(StoreUnavailable) as refused:
        ask_postgres(env, port_of_postgres(show))
    assert words in refused.value.why


def test_without_a_file_only_the_authorities_of_the_system_are_trusted(
    port_of_valkey, port_of_postgres, port_of_kafka
):
    for ask, port_of in (
        (ask_redis, port_of_valkey),
        (ask_postgres, port_of_postgres),
        (ask_kafka, port_of_kafka),
    ):
        with pytest.raises(StoreUnavailable, match="certificate"):
            ask({}, port_of("good"))


def test_a_server_that_speaks_no_tls_is_not_spoken_to(env, valkey, postgres, kafka):
    with pytest.raises(StoreUnavailable):
        ask_redis(env, valkey)
    with pytest.raises(StoreUnavailable, match="SSL"):
        ask_postgres(env, urlsplit(postgres).port)
    with pytest.raises(StoreUnavailable):
        ask_kafka(env, int(kafka["PLAINTEXT"].partition(":")[2]))
