"""The environment is read completely, and all its problems are reported together."""

import json
from datetime import timedelta

import pytest

from taskmill.core.errors import SettingsInvalid
from taskmill.execution.pace import Pace
from taskmill.settings import Settings
from taskmill.settings.access import Credentials
from taskmill.settings.crash_points import crash_at
from tests.unit.settings.vault import Cupboard

ALL = ("kafka", "redis", "postgres")
HERE = {
    "TASKMILL_KAFKA_BROKERS": "127.0.0.1:9092",
    "TASKMILL_REDIS_URL": "redis://127.0.0.1:6379/0",
    "TASKMILL_POSTGRES_DSN": "postgresql://app@localhost:5432/taskmill",
}
APP = Credentials(username="app", password="s3cret")  # noqa: S106 - of nobody
LOGIN = json.dumps({"username": "app", "password": "s3cret"})


def read(env, *needs, cupboard=None):
    return Settings.from_env(env, needs=needs or ALL, vault=(cupboard or Cupboard()).as_vault())


def complaints(env, *needs, cupboard=None):
    with pytest.raises(SettingsInvalid) as refused:
        read(env, *needs, cupboard=cupboard)
    return str(refused.value).split("; ")


def test_stores_on_this_machine_need_no_more_than_their_addresses():
    settings = read(HERE)
    assert settings.kafka.value.brokers == "127.0.0.1:9092"
    assert settings.redis.value.url == "redis://127.0.0.1:6379/0"
    assert not settings.postgres.value.must_verify
    assert (settings.shards, settings.waiting_places) == (64, 0)


def test_everything_that_is_missing_is_named_at_once():
    assert complaints({"TASKMILL_SHARDS": "many"}, *ALL, "api_keys") == [
        "TASKMILL_KAFKA_BROKERS is missing",
        "TASKMILL_REDIS_URL is missing",
        "TASKMILL_POSTGRES_DSN is missing",
        "TASKMILL_API_KEYS_SECRET is missing: the gateway does not start without API keys",
        "TASKMILL_SHARDS must be a whole number, not 'many'",
    ]


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (
            "TASKMILL_OUTBOX_CAPP",
            "TASKMILL_OUTBOX_CAPP is not a setting, but TASKMILL_OUTBOX_CAP is",
        ),
        ("TASKMILL_SHARD", "TASKMILL_SHARD is not a setting, but TASKMILL_SHARDS is"),
        ("TASKMILL_COLOUR", "TASKMILL_COLOUR is not a setting"),
    ],
)
def test_a_setting_that_nobody_knows_is_refused_and_the_nearest_is_named(wrong, complaint):
    assert complaints(HERE | {wrong: "7"}) == [complaint]
    assert complaints(HERE | {wrong: ""}) == [complaint], "not even without a value"


def test_variables_of_others_are_theirs():
    foreign = {"TASKMIL_SHARDS": "x", "MY_TASKMILL_URL": "x", "OUTBOX_CAPP": "7"}
    settings, usual = read(HERE | foreign), read(HERE)
    assert (settings.shards, settings.outbox_cap) == (usual.shards, usual.outbox_cap)


def test_a_bucket_is_named_and_spoken_to_in_plaintext_on_this_machine_only():
    assert complaints({}, "s3") == [
        "TASKMILL_BUCKET is missing: set it to the bucket for large payloads and results"
    ]
    env = {"TASKMILL_BUCKET": "mill"}
    place = "https://mill.s3.eu-west-1.amazonaws.com", "/a/b"
    assert read(env | {"AWS_REGION": "eu-west-1"}, "s3").s3.place("a/b") == place
    here = read(env | {"TASKMILL_BUCKET_ENDPOINT": "http://127.0.0.1:9000/"}, "s3").s3
    assert here.place("a/b") == ("http://127.0.0.1:9000", "/mill/a/b")
    for endpoint, why in (
        ("http://s3.example.com", "is plaintext, which is not allowed for the remote host"),
        ("s3.example.com", "must look like https://s3.example.com"),
        ("ftp://127.0.0.1", "must look like https://s3.example.com"),
    ):
        (answer,) = complaints(env | {"TASKMILL_BUCKET_ENDPOINT": endpoint}, "s3")
        assert why in answer


def test_the_clockwork_goes_as_usual_unless_it_is_told():
    assert read(HERE).pace == Pace()
    answer = {"LEASE": 4_000, "HEARTBEAT": 1_300, "SETTLE": 100, "MARGIN": 500, "HOLD": 3_000}
    faster = HERE | {f"TASKMILL_{name}_MS": str(span) for name, span in answer.items()}
    pace = read(faster | {"TASKMILL_TICK_MS": "50"}).pace
    spans = (pace.lease, pace.heartbeat, pace.settle, pace.margin, pace.hold, pace.tick)
    assert [span / timedelta(milliseconds=1) for span in spans] == [*answer.values(), 50]


def test_a_lease_that_one_late_heartbeat_would_end_is_refused():
    assert complaints(HERE | {"TASKMILL_LEASE_MS": "3999"}) == [
        (
            "TASKMILL_HEARTBEAT_MS must be at most half of TASKMILL_LEASE_MS: "
            "a lease must outlive a late heartbeat"
        )
    ]


def test_a_store_that_is_not_needed_is_not_asked_for():
    cupboard = Cupboard()
    read(
        {"TASKMILL_REDIS_URL": HERE["TASKMILL_REDIS_URL"], "TASKMILL_KAFKA_SECRET": "gone"},
        "redis",
        cupboard=cupboard,
    )
    assert cupboard.asked == []


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (
            "KAFKA_BROKERS",
            "127.0.0.1:9092,b-2.example:9092",
            (
                "TASKMILL_KAFKA_SECURITY is PLAINTEXT, which is not allowed for the remote host "
                "b-2.example: set it to SSL, SCRAM-SHA-512 or AWS_MSK_IAM"
            ),
        ),
        (
            "REDIS_URL",
            "redis://cache.example:6379",
            (
                "TASKMILL_REDIS_URL is plaintext, which is not allowed for the remote host "
                "cache.example: begin it with rediss://"
            ),
        ),
        (
            "POSTGRES_DSN",
            "postgresql://app@db.example/taskmill?sslmode=require",
            (
                "TASKMILL_POSTGRES_DSN sets sslmode=require, which is not allowed for the remote "
                "host db.example: use sslmode=verify-full, or omit it"
            ),
        ),
    ],
)
def test_plaintext_to_elsewhere_is_refused(name, value, sentence):
    assert complaints(HERE | {f"TASKMILL_{name}": value}) == [sentence]


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.7",
        "127.1",
        "127.0.0.1.example",
        "localhost.example",
        "[::2]",
        "[fe80::1]",
    ],
)
def test_only_a_loopback_address_or_localhost_is_this_machine(host):
    env = {
        "TASKMILL_KAFKA_BROKERS": f"{host}:9092",
        "TASKMILL_REDIS_URL": f"redis://{host}:6379",
        "TASKMILL_POSTGRES_DSN": f"postgresql://app@{host}:5432/db?sslmode=disable",
    }
    assert len(complaints(env)) == 3


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "[::1]"])
def test_every_loopback_address_is_this_machine(host):
    settings = read(
        {
            "TASKMILL_KAFKA_BROKERS": f"{host}:9092,localhost:9093",
            "TASKMILL_REDIS_URL": f"redis://{host}:6379",
            "TASKMILL_POSTGRES_DSN": f"postgresql://app@{host}:5432/db",
        }
    )
    assert settings.kafka.value.is_local
    assert settings.redis.value.is_local
    assert settings.postgres.value.is_local


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REDIS_URL", "cache.example:6379"),
        ("REDIS_URL", "unix:///run/valkey.sock"),
        ("REDIS_URL", "rediss://cache.example?ssl_cert_reqs=none"),
        ("REDIS_URL", "redis://[::1"),
        ("POSTGRES_DSN", "host=127.0.0.1 dbname=taskmill"),
        ("POSTGRES_DSN", "postgresql:///taskmill"),
        ("POSTGRES_DSN", "postgresql://127.0.0.1/db?host=db.example"),
        ("POSTGRES_DSN", "postgresql://127.0.0.1/db?%68ostaddr=10.0.0.7"),
        ("POSTGRES_DSN", "postgresql://127.0.0.1#@db.example/db"),
        ("POSTGRES_DSN", "postgresql://127.0.0.1,db.example/db?sslmode=prefer"),
        ("KAFKA_SECURITY", "SASL_PLAINTEXT"),
        ("KAFKA_SECURITY", "SCRAM-SHA-512"),
        ("KAFKA_CA_FILE", "/nowhere/ca.pem"),
        ("REDIS_CA_FILE", "/nowhere/ca.pem"),
        ("POSTGRES_CA_FILE", "/nowhere/ca.pem"),
    ],
)
def test_what_could_bend_the_rules_is_refused_by_the_name_of_its_setting(name, value):
    (complaint,) = complaints(HERE | {f"TASKMILL_{name}": value})
    assert complaint.startswith(f"TASKMILL_{name}")


@pytest.mark.parametrize("security", ["SSL", "AWS_MSK_IAM"])
def test_secured_stores_may_be_anywhere(security):
    settings = read(
        {
            "TASKMILL_KAFKA_BROKERS": "b-1.example:9098,b-2.example:9098",
            "TASKMILL_KAFKA_SECURITY": security,
            "TASKMILL_REDIS_URL": "rediss://cache.example:6379/0",
            "TASKMILL_POSTGRES_DSN": "postgresql://app@db.example/taskmill",
        }
    )
    assert settings.kafka.value.security == security
    assert settings.postgres.value.must_verify


def test_credentials_come_from_a_secret_beside_the_address():
    cupboard = Cupboard(secrets={"login": LOGIN})
    env = HERE | {f"TASKMILL_{store}_SECRET": "login" for store in ("KAFKA", "REDIS", "POSTGRES")}
    settings = read(env | {"TASKMILL_KAFKA_SECURITY": "SCRAM-SHA-512"}, cupboard=cupboard)
    for access in (settings.kafka, settings.redis, settings.postgres):
        assert access.value.credentials == APP
        assert "s3cret" not in repr(access.value)


@pytest.mark.parametrize(
    "secret",
    [
        "postgresql://app:s3cret@db.example:5432/taskmill",
        '{"address": "postgresql://db.example:5432/taskmill", "username": "app", "password": "p"}',
        '{"host": "db.example", "port": 5432, "dbname": "taskmill", "username": "app"}',
    ],
)
def test_a_secret_may_tell_the_whole_address(secret):
    cupboard = Cupboard(secrets={"ledger": secret})
    settings = read({"TASKMILL_POSTGRES_SECRET": "ledger"}, "postgres", cupboard=cupboard)
    dsn = settings.postgres.value.dsn
    assert dsn.rpartition("//")[2].rpartition("@")[2] == "db.example:5432/taskmill"


def test_an_address_out_of_a_secret_is_held_to_the_same_rules():
    cupboard = Cupboard(secrets={"cache": "redis://cache.example"})
    (complaint,) = complaints({"TASKMILL_REDIS_SECRET": "cache"}, "redis", cupboard=cupboard)
    assert "begin it with rediss://" in complaint


def test_an_address_may_stand_in_a_parameter():
    cupboard = Cupboard(parameters={"/prod/brokers": "b-1.example:9094"})
    env = {
        "TASKMILL_KAFKA_BROKERS_PARAMETER": "/prod/brokers",
        "TASKMILL_KAFKA_SECURITY": "SSL",
    }
    assert read(env, "kafka", cupboard=cupboard).kafka.value.brokers == "b-1.example:9094"


def test_an_address_is_told_in_one_way_only():
    env = HERE | {"TASKMILL_REDIS_URL_PARAMETER": "/prod/redis"}
    assert complaints(env) == [
        (
            "TASKMILL_REDIS_URL and TASKMILL_REDIS_URL_PARAMETER set the same value: "
            "set only one of them"
        )
    ]


def test_a_secret_that_cannot_be_read_is_named_with_its_setting():
    env = HERE | {"TASKMILL_REDIS_SECRET": "gone", "TASKMILL_POSTGRES_SECRET": "lost"}
    assert complaints(env) == [
        "TASKMILL_REDIS_SECRET: 'gone' is not here",
        "TASKMILL_POSTGRES_SECRET: 'lost' is not here",
    ]


def test_a_broken_secret_is_named_and_not_shown():
    cupboard = Cupboard(secrets={"login": '{"password": "s3cret"'})
    (complaint,) = complaints(HERE | {"TASKMILL_REDIS_SECRET": "login"}, cupboard=cupboard)
    assert complaint == "the secret of TASKMILL_REDIS_SECRET is not a JSON object"


def test_a_crash_is_for_tests_on_this_machine_only():
    answer = HERE | {"TASKMILL_CRASH_AT": "worker after claim:1"}
    assert read(HERE).crash_at is None
    assert read(answer).crash_at == crash_at("worker after claim:1")
    only_here = "TASKMILL_CRASH_AT is for tests of the local runtime only: remove it"
    assert only_here in complaints(answer | {"LAMBDA_TASK_ROOT": "/var/task"})
    away = answer | {"TASKMILL_POSTGRES_DSN": "postgresql://app@db.example:5432/taskmill"}
    assert only_here in complaints(away)


def test_a_wrong_clock_is_for_tests_on_this_machine_only():
    answer = HERE | {"TASKMILL_CLOCK_AHEAD_MS": "-600000"}
    assert read(HERE).clock_ahead == timedelta()
    assert read(answer).clock_ahead == -timedelta(minutes=10)
    only_here = "TASKMILL_CLOCK_AHEAD_MS is for tests of the local runtime only: remove it"
    assert only_here in complaints(answer | {"LAMBDA_TASK_ROOT": "/var/task"})
    assert "not '1 h'" in complaints(HERE | {"TASKMILL_CLOCK_AHEAD_MS": "1 h"})[0]


def test_a_crash_at_no_known_point_is_refused():
    (said,) = complaints(HERE | {"TASKMILL_CRASH_AT": "nowhere:1"})
    assert said.startswith(
        "TASKMILL_CRASH_AT names an unknown point 'nowhere', not one of: gateway"
    )


def test_the_ledger_keeps_what_ended_for_a_month_unless_it_is_told():
    assert read(HERE).keeps == timedelta(days=30)
    assert read(HERE | {"TASKMILL_RETENTION_DAYS": "7"}).keeps == timedelta(days=7)


def test_a_retention_that_a_keys_window_outlives_is_refused():
    answer = complaints(HERE | {"TASKMILL_RETENTION_DAYS": "3"})
    assert "TASKMILL_RETENTION_DAYS must be at least 4, not 3" in str(answer)
