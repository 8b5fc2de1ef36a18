"""Secrets are read once, cached, and reread when a store rejects them."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from taskmill.core.errors import SettingsInvalid, StoreUnavailable
from taskmill.settings import Settings
from taskmill.settings.secrets import SecretUnreadable, read_parameter, read_secret
from taskmill.stores.api_keys import ApiKeys
from taskmill.stores.kafka.ends import KafkaLogEnds
from taskmill.stores.postgres.connection import Database
from taskmill.stores.redis.session import Session
from tests.waiting import eventually

ROOT = Path(__file__).parents[3]
HERE = {
    "TASKMILL_KAFKA_BROKERS": "127.0.0.1:9",
    "TASKMILL_REDIS_URL": "redis://127.0.0.1:9/0",
    "TASKMILL_POSTGRES_DSN": "postgresql://app@127.0.0.1:9/taskmill",
    "TASKMILL_BUCKET": "large",
}
_numbers = itertools.count()


@pytest.fixture
def name():
    return f"taskmill/test-{next(_numbers)}"


def login(username, password):
    return json.dumps({"username": username, "password": password})


def test_a_secret_is_read_once_and_anew_when_asked(account, name):
    account.keep(name, "one")
    assert read_secret(name) == "one"
    account.keep(name, "two")
    assert read_secret(name) == "one"
    assert read_secret(name, fresh=True) == "two"
    assert read_secret(name) == "two"


def test_a_parameter_is_read_even_when_it_is_encrypted(account, name):
    account.ssm.put_parameter(Name=f"/{name}", Value="b-1.example:9094", Type="SecureString")
    assert read_parameter(f"/{name}") == "b-1.example:9094"


def test_what_is_missing_is_told_by_its_name(account, name):
    with pytest.raises(SecretUnreadable, match=f"the secret '{name}' cannot be read: .*NotFound"):
        read_secret(name)
    with pytest.raises(
        SecretUnreadable, match=f"the parameter '/{name}' cannot be read: .*NotFound"
    ):
        read_parameter(f"/{name}")
    env = HERE | {"TASKMILL_POSTGRES_SECRET": name}
    with pytest.raises(SettingsInvalid, match=f"TASKMILL_POSTGRES_SECRET: the secret '{name}'"):
        Settings.from_env(env, needs=("postgres",))


def test_a_rotated_password_of_redis_is_found_by_the_next_connection(account, name, valkey_admin):
    def set_password(password):
        valkey_admin.acl_setuser(
            "app", enabled=True, reset_passwords=True, passwords=[f"+{password}"],
            categories=["+@all"], keys=["*"],
        )  # fmt: skip
        return login("app", password)

    account.keep(name, set_password("first"))
    port = valkey_admin.connection_pool.connection_kwargs["port"]
    env = {"TASKMILL_REDIS_URL": f"redis://127.0.0.1:{port}/0", "TASKMILL_REDIS_SECRET": name}
    access = Settings.from_env(env, needs=("redis",)).redis
    _ask_redis(access)

    set_password("second")
    with pytest.raises(StoreUnavailable, match="username-password pair"):
        _ask_redis(access)
    account.keep(name, login("app", "second"))
    _ask_redis(access)


def _ask_redis(access):
    session = Session(access)
    try:
        assert session.command("ACL", "WHOAMI") == b"app"
    finally:
        session.close()


def test_a_rotated_password_of_postgres_is_found_by_the_next_connection(account, name, postgres):
    def set_password(password):
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute(f"ALTER ROLE taskmill_app PASSWORD '{password}'")
        return login("taskmill_app", password)

    account.keep(name, set_password("first"))
    dsn = f"postgresql://127.0.0.1:{urlsplit(postgres).port}/taskmill"
    env = {"TASKMILL_POSTGRES_DSN": dsn, "TASKMILL_POSTGRES_SECRET": name}
    access = Settings.from_env(env, needs=("postgres",)).postgres
    _ask_postgres(access)

    set_password("second")
    with pytest.raises(StoreUnavailable, match="password authentication failed"):
        _ask_postgres(access)
    account.keep(name, login("taskmill_app", "second"))
    _ask_postgres(access)


def _ask_postgres(access):
    database = Database(access)
    try:
        assert database.fetch(b"SELECT current_user AS me", {}) == [{"me": "taskmill_app"}]
    finally:
        database.close()


def test_a_rotated_password_of_kafka_is_found_by_the_next_connection(
    account, name, kafka, authority
):
    admin = AdminClient({"bootstrap.servers": kafka["PLAINTEXT"], "log_level": 0})

    def set_password(password):
        how = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        change = UserScramCredentialUpsertion("app", how, password.encode())
        for changed in admin.alter_user_scram_credentials([change]).values():
            changed.result(timeout=30)
        return login("app", password)

    account.keep(name, login("app", "first"))
    env = {
        "TASKMILL_KAFKA_BROKERS": kafka["SASL_SSL"],
        "TASKMILL_KAFKA_SECURITY": "SCRAM-SHA-512",
        "TASKMILL_KAFKA_SECRET": name,
        "TASKMILL_KAFKA_CA_FILE": str(authority.file),
    }
    access = Settings.from_env(env, needs=("kafka",)).kafka
    _ask_kafka(access)

    set_password("second")
    eventually(lambda: _is_refused(access), within=60, reason="the broker knows of it")
    account.keep(name, login("app", "second"))
    _ask_kafka(access)


def _is_refused(access):
    try:
        _ask_kafka(access)
    except StoreUnavailable as error:
        return "the broker refused the login" in error.why
    return False


def test_a_broker_without_our_way_to_log_in_says_so(kafka, authority):
    env = {
        "TASKMILL_KAFKA_BROKERS": kafka["SASL_SSL"],
        "TASKMILL_KAFKA_SECURITY": "AWS_MSK_IAM",
        "TASKMILL_KAFKA_CA_FILE": str(authority.file),
    }
    with pytest.raises(
        StoreUnavailable, match="does not support AWS_MSK_IAM; it supports SCRAM-SHA-512"
    ):
        _ask_kafka(Settings.from_env(env, needs=("kafka",)).kafka)


def _ask_kafka(access):
    ends = KafkaLogEnds(access)
    try:
        assert ends.ends()
    finally:
        ends.close()


def test_api_keys_are_read_from_their_secret(account, name):
    account.keep(name, json.dumps({"ci": "0" * 64}))
    env = HERE | {"TASKMILL_API_KEYS_SECRET": name}
    needs = ("kafka", "redis", "postgres", "api_keys")
    assert not ApiKeys(Settings.from_env(env, needs=needs).read_api_keys).know("anything")


def start_of(handler, env):
    """Import a handler as the platform does at init; return its last line of output."""
    base = {
        "PATH": os.defpath,
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "shared"))),
        "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:9",
        **{name: value for name, value in os.environ.items() if name.startswith("AWS_")},
    }
    command = [sys.executable, "-c", f"import functions.{handler}.handler"]
    done = subprocess.run(command, env=base | env, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.strip().rpartition("\n")[2]


FUNCTIONS = ["gateway", "dispatcher", "workers.echo", "recorder", "scheduler"]
OPEN = HERE | {"TASKMILL_OPEN": "1"}


@pytest.mark.parametrize("handler", FUNCTIONS)
def test_a_function_starts_on_a_machine_of_ones_own(handler):
    assert start_of(handler, OPEN) == (0, "")


@pytest.mark.parametrize("handler", FUNCTIONS)
def test_a_function_whose_secret_is_missing_does_not_start(handler, account, name):
    setting = f"TASKMILL_{'POSTGRES' if handler == 'recorder' else 'REDIS'}_SECRET"
    code, words = start_of(handler, OPEN | {setting: name})
    assert code != 0
    assert f"{setting}: the secret '{name}' cannot be read" in words


@pytest.mark.parametrize("handler", FUNCTIONS)
def test_a_function_that_cannot_ask_for_its_secret_does_not_start(
    handler, account, name, monkeypatch
):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    setting = f"TASKMILL_{'POSTGRES' if handler == 'recorder' else 'REDIS'}_SECRET"
    code, words = start_of(handler, OPEN | {setting: name})
    assert code != 0
    assert f"{setting}: the secret '{name}' cannot be read" in words
    assert "127.0.0.1:9" in words


@pytest.mark.parametrize("handler", ["gateway", "workers.echo"])
def test_a_function_without_its_bucket_does_not_start(handler):
    code, words = start_of(handler, OPEN | {"TASKMILL_BUCKET": ""})
    assert code != 0
    assert "TASKMILL_BUCKET is missing" in words


def test_a_gateway_without_keys_does_not_start():
    code, words = start_of("gateway", HERE)
    assert code != 0
    assert "TASKMILL_API_KEYS_SECRET is missing" in words


def test_a_function_that_would_speak_plaintext_to_elsewhere_does_not_start():
    code, words = start_of("scheduler", HERE | {"TASKMILL_REDIS_URL": "redis://cache.example"})
    assert code != 0
    assert "begin it with rediss://" in words
