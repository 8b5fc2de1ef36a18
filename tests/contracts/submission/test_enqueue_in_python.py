"""`enqueue` works inside transactions of every supported connection type."""

import json
import math
from contextlib import closing, contextmanager
from datetime import UTC, datetime

import django
import psycopg
import pytest
import sqlalchemy
from django.conf import settings
from django.db import connections, transaction
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row, namedtuple_row, scalar_row
from sqlalchemy.orm import Session

from taskmill.sql import enqueue
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.enqueued import PostgresRequests


@pytest.fixture(scope="module")
def dsns(make_database):
    return make_database()


@pytest.fixture(scope="module")
def shop(dsns):
    return dsns[0].replace("taskmill_owner@", "taskmill_enqueue@")


@pytest.fixture(scope="module")
def requests(dsns):
    with closing(Database(dsns[1])) as database:
        yield PostgresRequests(database)


@contextmanager
def of_psycopg(dsn, *, is_kept, **options):
    with (
        psycopg.connect(dsn, **options) as connection,
        connection.transaction(force_rollback=not is_kept),
    ):
        yield connection


@contextmanager
def of_psycopg_cursor(dsn, *, is_kept):
    with of_psycopg(dsn, is_kept=is_kept) as connection, connection.cursor() as cursor:
        yield cursor


@contextmanager
def of_rows_as(factory, dsn, *, is_kept):
    with of_psycopg(dsn, is_kept=is_kept, row_factory=factory) as connection:
        yield connection


@contextmanager
def of_sqlalchemy(dsn, *, is_kept):
    engine = sqlalchemy.create_engine(dsn.replace("postgresql://", "postgresql+psycopg://"))
    try:
        with engine.connect() as connection:
            begun = connection.begin()
            yield connection
            begun.commit() if is_kept else begun.rollback()
    finally:
        engine.dispose()


@contextmanager
def of_sqlalchemy_session(dsn, *, is_kept):
    with of_sqlalchemy(dsn, is_kept=is_kept) as connection, Session(connection) as session:
        yield session


@contextmanager
def of_django(dsn, *, is_kept):
    if not settings.configured:
        databases = {"default": _for_django(dsn)}
        settings.configure(DATABASES=databases, USE_TZ=True, LOGGING_CONFIG=None)
        django.setup()
    connection = connections["default"]
    try:
        with transaction.atomic():
            yield connection
            if not is_kept:
                transaction.set_rollback(True)
    finally:
        connections.close_all()


def _for_django(dsn):
    answer = conninfo_to_dict(dsn)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": answer["dbname"],
        "USER": answer["user"],
        "HOST": answer["host"],
        "PORT": answer["port"],
    }


@contextmanager
def of_django_cursor(dsn, *, is_kept):
    with of_django(dsn, is_kept=is_kept) as connection, connection.cursor() as cursor:
        yield cursor


def as_rows(factory):
    return lambda dsn, is_kept: of_rows_as(factory, dsn, is_kept=is_kept)


WAYS = {
    "psycopg": of_psycopg,
    "a cursor of psycopg": of_psycopg_cursor,
    "psycopg with dicts": as_rows(dict_row),
    "psycopg with names": as_rows(namedtuple_row),
    "psycopg with values": as_rows(scalar_row),
    "SQLAlchemy": of_sqlalchemy,
    "a session of SQLAlchemy": of_sqlalchemy_session,
    "Django": of_django,
    "a cursor of Django": of_django_cursor,
}


@pytest.mark.parametrize("way", WAYS)
def test_the_request_is_kept_with_the_transaction_and_goes_with_it(way, shop, requests):
    with WAYS[way](shop, is_kept=True) as connection:
        kept = enqueue(connection, "echo", {"say": "it's ☃, 100 %"}, delay_seconds=5)
    with WAYS[way](shop, is_kept=False) as connection:
        gone = enqueue(connection, "echo")
    answer = b'{"type":"echo","payload":{"say":"it\'s \xe2\x98\x83, 100 %"},"delay_seconds":5}'
    assert requests.find(kept).request == answer
    assert requests.find(gone) is None


def asked(requests, shop, *given, **fields):
    with of_psycopg(shop, is_kept=True) as connection:
        task_id = enqueue(connection, *given, **fields)
    return json.loads(requests.find(task_id).request)


def test_every_field_of_a_request_can_be_given(requests, shop):
    answer = asked(
        requests,
        shop,
        "echo",
        None,
        idempotency_key="k, 1",
        run_at=datetime(2031, 1, 31, 12, tzinfo=UTC),
        expires_at=datetime(2031, 2, 1, 12, 0, 0, 5, tzinfo=UTC),
        max_attempts=7,
        timeout_seconds=2.5,
        retry={"first_seconds": 3},
        metadata={"a": "b"},
        priority="critical",
        fairness_key="é, 1",
    )
    assert answer == {
        "type": "echo",
        "payload": None,
        "idempotency_key": "k, 1",
        "run_at": "2031-01-31T12:00:00Z",
        "expires_at": "2031-02-01T12:00:00.000005Z",
        "max_attempts": 7,
        "timeout_seconds": 2.5,
        "retry": {"first_seconds": 3},
        "metadata": {"a": "b"},
        "priority": "critical",
        "fairness_key": "é, 1",
    }
    assert asked(requests, shop, "echo", priority=0)["priority"] == 0


def test_what_is_not_given_is_not_asked_for(requests, shop):
    ref = {"url": "s3://b/k", "size": 1, "sha256": "0" * 64}
    assert asked(requests, shop, "echo") == {"type": "echo"}
    assert asked(requests, shop, "echo", payload_ref=ref) == {
        "type": "echo",
        "payload_ref": ref,
    }


@pytest.mark.parametrize(
    "fields",
    [{"payload": math.nan}, {"run_at": datetime(2031, 1, 1)}],  # noqa: DTZ001 - what is refused
)
def test_what_no_statement_can_say_is_refused_before(shop, fields):
    with (
        of_psycopg(shop, is_kept=False) as connection,
        pytest.raises(ValueError, match=r"."),
    ):
        enqueue(connection, "echo", **fields)


@pytest.mark.parametrize(
    ("way", "error"),
    [
        ("psycopg", psycopg.DataError),
        ("SQLAlchemy", sqlalchemy.exc.DataError),
        ("Django", django.db.DataError),
    ],
)
def test_what_is_no_request_raises_what_the_connection_raises(shop, way, error):
    def ask():
        with WAYS[way](shop, is_kept=False) as connection:
            enqueue(connection, "echo", idempotency_key="ä")

    with pytest.raises(error, match="printable ASCII"):
        ask()
