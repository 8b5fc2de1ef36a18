"""The rows, ids, errors and permissions of `taskmill.enqueue` in SQL."""

import json
import shutil
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg import errors
from psycopg.types.json import Json

from taskmill.core.task import keyed_id, unkeyed_id
from taskmill.core.time import LONGEST_DELAY
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.enqueued import PostgresRequests
from taskmill.stores.postgres.migrate import migrate
from taskmill_local.stores import postgres
from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.server import Server
from tests.builders import now_ms
from tests.contracts.conftest import GRACE, MIGRATIONS

LONGEST_DELAY_S = f"{LONGEST_DELAY.total_seconds():.0f}"
ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=300)
KEYS = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=255)
TYPES = ANY_TEXT.filter(lambda text: 1 <= len(text) <= 128)


@pytest.fixture(scope="module")
def older_postgres(runner):
    """Start the oldest PostgreSQL that comes with the packages of the local platform."""
    folder = Path(tempfile.mkdtemp(prefix="taskmill-"))
    folder.chmod(0o755)
    prepare_home(folder / "home")
    server = Server("PostgreSQL", folder / "home")
    programs = postgres.programs().with_name("pginstall")
    try:
        yield runner.run(postgres.start_postgres(server, durable=False, programs_in=programs))
    finally:
        runner.run(server.stop(GRACE))
        shutil.rmtree(folder)


@pytest.fixture(scope="module", params=[18, 16])
def dsns(request):
    if request.param == 18:
        return request.getfixturevalue("make_database")()
    older = request.getfixturevalue("older_postgres")
    with psycopg.connect(older.owner) as connection:
        assert connection.info.server_version // 10_000 == request.param
        connection.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")  # as before PostgreSQL 15
    migrate(older.owner, MIGRATIONS)
    return older.owner, older.app


@pytest.fixture(scope="module")
def requests(dsns):
    with closing(Database(dsns[1])) as database:
        yield PostgresRequests(database)


@pytest.fixture(scope="module")
def shop(dsns):
    """Yield a connection of an application that may enqueue, and has its own table."""
    owner, _ = dsns
    superuser = owner.replace("taskmill_owner@", "postgres@")
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS shop")
        connection.execute("CREATE ROLE shop LOGIN IN ROLE taskmill_enqueue")
        connection.execute("CREATE SCHEMA shop AUTHORIZATION shop")
    with psycopg.connect(owner.replace("taskmill_owner@", "shop@"), autocommit=True) as connection:
        yield connection


def asked(shop, call, values=()):
    (task_id,) = shop.execute(f"SELECT taskmill.enqueue({call})", values).fetchone()
    return str(task_id)


def request_of(requests, task_id):
    return json.loads(requests.find(task_id).request)


def test_what_is_committed_stands_in_line_and_what_is_rolled_back_does_not(shop, requests):
    shop.execute("CREATE TABLE shop.orders (id integer)")
    with shop.transaction():
        shop.execute("INSERT INTO shop.orders VALUES (1)")
        kept = asked(shop, """'echo', '{"order": 1}'""")
    with shop.transaction(force_rollback=True):
        shop.execute("INSERT INTO shop.orders VALUES (2)")
        gone = asked(shop, """'echo', '{"order": 2}'""")
    with shop.transaction():
        with shop.transaction(force_rollback=True):
            gone_too = asked(shop, "'echo'")
        kept_too = asked(shop, "'echo'")
    assert requests.find(kept).request == b'{"type":"echo","payload":{"order": 1}}'
    assert requests.find(kept_too) is not None
    assert [requests.find(task_id) for task_id in (gone, gone_too)] == [None, None]


def test_every_field_of_a_request_is_an_argument(shop, requests):
    with shop.transaction():
        task_id = asked(
            shop,
            "type => 'echo', payload => %s, idempotency_key => 'k, 1', run_at => %s,"
            " expires_at => '2031-05-01 12:30:00.5+02', max_attempts => 7, timeout_seconds => 2.5,"
            """ retry => '{"first_seconds": 3}', metadata => %s,"""
            " priority => 'high', fairness_key => 'é, 1'",
            (Json({"s": "☃\u0007"}), datetime(2031, 1, 31, 12, tzinfo=UTC), Json({"a": "b"})),
        )
    assert request_of(requests, task_id) == {
        "type": "echo",
        "payload": {"s": "☃\u0007"},
        "idempotency_key": "k, 1",
        "run_at": "2031-01-31T12:00:00Z",
        "expires_at": "2031-05-01T10:30:00.5Z",
        "max_attempts": 7,
        "timeout_seconds": 2.5,
        "retry": {"first_seconds": 3},
        "metadata": {"a": "b"},
        "priority": "high",
        "fairness_key": "é, 1",
    }


def test_what_is_not_given_is_not_in_the_request(shop, requests):
    with shop.transaction():
        bare = asked(shop, "'echo'")
        pointing = asked(
            shop, """'echo', payload_ref => '{"url": "s3://b/k"}', delay_seconds => 5"""
        )
    assert requests.find(bare).request == b'{"type":"echo"}'
    assert request_of(requests, pointing) == {
        "type": "echo",
        "payload_ref": {"url": "s3://b/k"},
        "delay_seconds": 5,
    }


def test_a_payload_keeps_its_digits_and_its_spelling(shop, requests):
    payload = '{"n": 1.10, "big": 123456789012345678901234567890, "e": 1E2, "twice": 1, "twice": 2}'
    with shop.transaction():
        task_id = asked(shop, "'echo', %s", (payload,))
    assert payload.encode() in requests.find(task_id).request


@settings(max_examples=200, deadline=None, derandomize=True)
@given(task_type=TYPES, key=KEYS)
def test_a_key_names_the_same_task_as_over_http(shop, task_type, key):
    with shop.transaction(force_rollback=True):
        answer = asked(shop, "%s, idempotency_key => %s", (task_type, key))
    assert answer == keyed_id("default", task_type, key)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(parts=st.tuples(ANY_TEXT, ANY_TEXT, ANY_TEXT))
def test_any_three_texts_name_the_same_task_in_sql_and_in_python(names, parts):
    (answer,) = names.execute("SELECT keyed_id(%s, %s, %s)", parts).fetchone()
    assert str(answer) == keyed_id(*parts)


@pytest.fixture(scope="module")
def names(dsns):
    with psycopg.connect(dsns[0], autocommit=True) as owner:
        yield owner


def test_ids_without_a_key_are_those_of_this_moment_and_all_different(shop):
    before_ms = now_ms()
    with shop.transaction():
        ids = {asked(shop, "'echo'") for _ in range(200)}
    assert len(ids) == 200
    for answer in ids:
        number = int(answer.replace("-", ""), 16)
        assert before_ms - 1 <= number >> 80 <= now_ms()
        assert answer == unkeyed_id(number >> 80, (number & (1 << 80) - 1).to_bytes(10, "big"))


@pytest.mark.parametrize(
    ("call", "code", "field"),
    [
        ("NULL", "invalid_request", "type"),
        ("''", "invalid_request", "type"),
        ("repeat('x', 129)", "invalid_request", "type"),
        ("'echo', '1', payload_ref => '{}'", "payload_conflict", "payload_ref"),
        ("'echo', to_json(repeat('x', 262143))", "payload_too_large", "payload"),
        ("'echo', idempotency_key => ''", "invalid_request", "idempotency_key"),
        ("'echo', idempotency_key => E'a\\n'", "invalid_request", "idempotency_key"),
        ("'echo', idempotency_key => 'ä'", "invalid_request", "idempotency_key"),
        ("'echo', idempotency_key => repeat('x', 256)", "invalid_request", "idempotency_key"),
        (
            "'echo', retry => '{}', metadata => to_json(repeat('x', 1100000))",
            "invalid_request",
            "metadata",
        ),
        ("'echo', '1', retry => to_json(repeat('x', 1100000))", "invalid_request", "retry"),
        ("'echo', payload_ref => to_json(repeat('x', 1100000))", "invalid_request", "payload_ref"),
        ("'echo', delay_seconds => 1, run_at => now()", "invalid_request", "delay_seconds"),
        ("'echo', delay_seconds => 'NaN'", "invalid_request", "delay_seconds"),
        ("'echo', timeout_seconds => 'Infinity'", "invalid_request", "timeout_seconds"),
        ("'echo', run_at => 'infinity'", "invalid_request", "run_at"),
        ("'echo', expires_at => '-infinity'", "invalid_request", "expires_at"),
        ("'echo', run_at => '2030-01-01 BC'", "invalid_request", "run_at"),
        ("'echo', run_at => '0001-12-31 23:59:59+00 BC'", "invalid_request", "run_at"),
        ("'echo', expires_at => '10000-01-01 00:00:00+00'", "invalid_request", "expires_at"),
        ("'echo', delay_seconds => -1", "invalid_request", "delay_seconds"),
        ("'echo', delay_seconds => -1e-9", "invalid_request", "delay_seconds"),
        (f"'echo', delay_seconds => {LONGEST_DELAY_S} + 0.001", "invalid_request", "delay_seconds"),
        ("'echo', timeout_seconds => 0", "invalid_request", "timeout_seconds"),
        ("'echo', timeout_seconds => 801", "invalid_request", "timeout_seconds"),
        ("'echo', priority => 'urgent'", "invalid_request", "priority"),
        ("'echo', priority => 'High'", "invalid_request", "priority"),
        ("'echo', priority => '4'", "invalid_request", "priority"),
        ("'echo', priority => ''", "invalid_request", "priority"),
        ("'echo', fairness_key => ''", "invalid_request", "fairness_key"),
        ("'echo', fairness_key => repeat('é', 201)", "invalid_request", "fairness_key"),
        ("'echo', fairness_key => E'a\\tb'", "invalid_request", "fairness_key"),
        ("'echo', fairness_key => E'a\\u0085'", "invalid_request", "fairness_key"),
    ],
)
def test_what_cannot_be_a_request_is_an_error_at_once(shop, call, code, field):
    with pytest.raises(errors.InvalidParameterValue) as caught:
        asked(shop, call)
    answer = caught.value.diag
    assert (answer.constraint_name, answer.column_name) == (code, field)
    assert answer.message_primary
    assert answer.message_hint


def test_the_largest_payload_and_the_longest_names_are_taken(shop, requests):
    with shop.transaction():
        task_id = asked(shop, "repeat('x', 128), to_json(repeat('x', 262142)), repeat('k', 255)")
    assert len(request_of(requests, task_id)["payload"]) == 262_142


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("run_at", "'0001-01-01 00:00:00+00'"),
        ("expires_at", "'9999-12-31 23:59:59+00'"),
        ("delay_seconds", "0"),
        ("delay_seconds", LONGEST_DELAY_S),
        ("timeout_seconds", "0.1"),
        ("timeout_seconds", "800"),
    ],
)
def test_what_lies_just_within_the_limits_is_taken(shop, requests, field, value):
    with shop.transaction():
        task_id = asked(shop, f"'echo', {field} => {value}")
    assert field in request_of(requests, task_id)


@pytest.mark.parametrize(
    ("given", "answer"), [("'low'", "low"), ("'3'", 3), ("'0'", 0), ("NULL", None)]
)
def test_a_priority_is_a_name_or_a_number_as_over_http(shop, requests, given, answer):
    with shop.transaction():
        task_id = asked(shop, f"'echo', priority => {given}")
    assert request_of(requests, task_id).get("priority") == answer


def test_the_longest_fairness_key_is_taken_as_it_came(shop, requests):
    with shop.transaction():
        task_id = asked(shop, "'echo', fairness_key => %s", ("\u2028é" * 100,))
    assert request_of(requests, task_id)["fairness_key"] == "\u2028é" * 100


@pytest.mark.parametrize("payload", ["", "{", "nan", "{'a': 1}"])
def test_what_is_no_json_is_an_error_at_once(shop, payload):
    with pytest.raises(errors.InvalidTextRepresentation):
        asked(shop, "'echo', %s", (payload,))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT FROM public.enqueued",
        "INSERT INTO public.enqueued (submission) VALUES ('s')",
        "UPDATE public.enqueued SET done_at = now()",
        "DELETE FROM public.enqueued",
        "SELECT FROM public.tasks",
        "SELECT FROM public.facts",
        "SELECT FROM public.outbox",
        "SELECT nextval('public.enqueued_id_seq')",
        "CREATE TABLE taskmill.mine (id integer)",
        "CREATE TABLE public.mine (id integer)",
        "SELECT public.forget_enqueued(now(), 1)",
        "SELECT public.forget_tasks(now(), 1)",
        "SELECT public.keyed_id('default', 'echo', 'k')",
        "SELECT public.unkeyed_id()",
        "SELECT taskmill.number('n', 1)",
        "SET ROLE taskmill_owner",
    ],
)
def test_who_may_ask_for_tasks_may_do_nothing_else(shop, statement):
    with pytest.raises(errors.InsufficientPrivilege):
        shop.execute(statement)


def test_an_application_beside_the_local_system_asks_in_a_transaction_with_its_tables(postgres):
    migrate(postgres.owner, MIGRATIONS)
    with psycopg.connect(postgres.application) as connection:
        connection.execute("CREATE TABLE orders (id integer)")
        connection.execute("INSERT INTO orders (id) VALUES (17)")
        task_id = asked(connection, "'echo'")
    with closing(Database(postgres.app)) as database:
        assert PostgresRequests(database).find(task_id) is not None


def test_nobody_else_may_ask_for_tasks(dsns):
    owner, app = dsns
    superuser = owner.replace("taskmill_owner@", "postgres@")
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS stranger")
        connection.execute("CREATE ROLE stranger LOGIN")
    for dsn in (app, owner.replace("taskmill_owner@", "stranger@")):
        with (
            psycopg.connect(dsn) as connection,
            pytest.raises(errors.InsufficientPrivilege),
        ):
            asked(connection, "'echo'")


def test_no_object_of_the_caller_is_taken_for_one_of_ours(shop, requests):
    """A caller's own temporary table or function never shadows ours."""
    with shop.transaction():
        shop.execute(
            "CREATE TEMPORARY TABLE enqueued (task_id uuid, submission text, request json)"
        )
        shop.execute(
            "CREATE FUNCTION shop.length(text) RETURNS integer LANGUAGE sql AS 'SELECT 1 / 0'"
        )
        shop.execute("SET LOCAL search_path = shop, pg_catalog")
        task_id = asked(shop, "'echo'")
        assert shop.execute("SELECT count(*) FROM pg_temp.enqueued").fetchone() == (0,)
    assert requests.find(task_id) is not None


def test_two_callers_with_one_key_do_not_wait_for_each_other(shop, dsns, requests):
    second = dsns[0].replace("taskmill_owner@", "shop@")
    with psycopg.connect(second) as other, shop.transaction():
        other.execute("SET lock_timeout = '5s'")
        first = asked(shop, "'echo', idempotency_key => 'both'")
        assert asked(other, "'echo', idempotency_key => 'both'") == first
        other.commit()
    assert requests.find(first) is not None


def test_whatever_a_session_set_the_request_is_told_alike(shop, requests):
    with shop.transaction():
        for setting in ("DateStyle = 'German'", "TimeZone = 'Asia/Kathmandu'"):
            shop.execute(f"SET LOCAL {setting}")
        shop.execute("SET LOCAL extra_float_digits = -10")
        task_id = asked(shop, "'echo', delay_seconds => 0.1234567890123456")
        other_id = asked(shop, "'echo', run_at => '2031-01-31T12:00:00.000001Z'")
    assert request_of(requests, task_id)["delay_seconds"] == 0.1234567890123456
    assert request_of(requests, other_id)["run_at"] == "2031-01-31T12:00:00.000001Z"
