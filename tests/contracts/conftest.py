"""The stores under test: memory, and real servers that are started once, on first use."""

import asyncio
import itertools
import shutil
import tempfile
import warnings
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
import yaml
from psycopg import sql

from taskmill.stores.memory.hot import MemoryHot
from taskmill.stores.memory.ledger import MemoryLedger
from taskmill.stores.postgres.migrate import migrate
from taskmill.stores.redis.session import Session
from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.java import find_java
from taskmill_local.stores.kafka import start_kafka
from taskmill_local.stores.postgres import start_postgres
from taskmill_local.stores.server import Server
from taskmill_local.stores.topics import TopicPlan, create_topics
from taskmill_local.stores.valkey import start_valkey
from tests.builders import now_ms
from tests.contracts.hot import InMemory, InValkey
from tests.contracts.ledgers import MemoryTables, PostgresTables

with warnings.catch_warnings():
    # kafka-python reads its own files in a way that Python 3.11 and 3.12 call deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka as _  # noqa: F401 - imported here once, so that no test meets the warning

GRACE = timedelta(seconds=3)
PATIENCE = timedelta(seconds=30)
"""A stalled machine is not an unavailable Redis."""

INFRA = Path(__file__).parents[2] / "infra"
MIGRATIONS = INFRA / "postgres/migrations"
TOPICS = INFRA / "kafka/topics.yaml"
OF_WORKERS = ("tasks.worker.echo", "tasks.worker.other")


@pytest.fixture(scope="package")
def stores_home():
    folder = Path(tempfile.mkdtemp(prefix="taskmill-"))  # pytest's own are closed to others
    folder.chmod(0o755)
    prepare_home(folder / "home")
    yield folder / "home"
    shutil.rmtree(folder)


@pytest.fixture(scope="package")
def runner():
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="package")
def valkey(runner, stores_home):
    server = Server("Valkey", stores_home)
    try:
        yield runner.run(start_valkey(server))
    finally:
        runner.run(server.stop(GRACE))


@pytest.fixture(scope="package")
def postgres(runner, stores_home):
    server = Server("PostgreSQL", stores_home)
    try:
        yield runner.run(start_postgres(server, durable=False))
    finally:
        runner.run(server.stop(GRACE))


@pytest.fixture(scope="package")
def kafka(runner, stores_home):
    server = Server("Kafka", stores_home)
    try:
        yield runner.run(start_kafka(server, find_java()))
    finally:
        runner.run(server.stop(GRACE))


@pytest.fixture(scope="package")
def brokers(kafka):
    """Return a broker with the topics of a system with two types."""
    plan = yaml.safe_load(TOPICS.read_text())
    defaults = {name: str(value) for name, value in plan["defaults"].items()}
    shapes = plan["topics"] | {name: {"partitions": 6} for name in OF_WORKERS}
    create_topics(
        kafka,
        {
            name: TopicPlan(partitions=shape["partitions"], configs=defaults)
            for name, shape in shapes.items()
        },
    )
    return kafka


@pytest.fixture(params=["memory", "valkey"])
def hot(request):
    """One hot store, empty and open."""
    if request.param == "memory":
        yield InMemory(MemoryHot(now_ms))
        return
    session = Session(request.getfixturevalue("valkey"), patience=PATIENCE)
    yield InValkey(session)
    session.close()


_numbers = itertools.count()


@pytest.fixture(scope="package")
def migrated(postgres):
    """Return the name of a database with the ledger's schema; copying is faster than migrating."""
    _make_database(postgres, "migrated", "template0")
    migrate(_in_database(postgres.owner, "migrated"), MIGRATIONS)
    return "migrated"


@pytest.fixture(scope="package")
def make_database(postgres, migrated):
    def make():
        name = f"ledger_{next(_numbers)}"
        _make_database(postgres, name, migrated)
        owner = _in_database(postgres.owner, name)
        with psycopg.connect(owner) as connection:  # the copy is as old as what was copied
            connection.execute("UPDATE windows SET until = now()")
        return owner, _in_database(postgres.app, name)

    return make


@pytest.fixture
def database(make_database):
    """Yield the owner's and the app's DSN of a separate database with the ledger's schema."""
    return make_database()


def _make_database(postgres, name, template):
    with psycopg.connect(postgres.owner.replace("taskmill_owner@", "postgres@")) as connection:
        connection.autocommit = True
        made = sql.SQL("CREATE DATABASE {} OWNER taskmill_owner TEMPLATE {} STRATEGY file_copy")
        connection.execute(made.format(sql.Identifier(name), sql.Identifier(template)))


def _in_database(dsn, name):
    return dsn.rpartition("/")[0] + f"/{name}"


@pytest.fixture(params=["memory", "postgres"])
def ledger(request):
    """One ledger, empty."""
    if request.param == "memory":
        yield MemoryTables(MemoryLedger())
        return
    owner, app = request.getfixturevalue("database")
    tables = PostgresTables(app, owner)
    yield tables
    tables.close()
