"""Keys are known by hash, change without a restart, and are never shown."""

import json
from hashlib import sha256

import pytest

from taskmill.core.errors import SettingsInvalid
from taskmill.settings import Settings
from taskmill.settings.secrets import SecretUnreadable
from taskmill.stores.api_keys import SECONDS_TO_NOTICE, ApiKeys
from tests.unit.settings.vault import Cupboard

HERE = {
    "TASKMILL_KAFKA_BROKERS": "127.0.0.1:9092",
    "TASKMILL_REDIS_URL": "redis://127.0.0.1:6379/0",
    "TASKMILL_POSTGRES_DSN": "postgresql://app@localhost:5432/taskmill",
}
NEEDS = ("kafka", "redis", "postgres", "api_keys")


def hashes(**keys):
    return json.dumps({name: sha256(key.encode()).hexdigest() for name, key in keys.items()})


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_every_key_of_the_secret_opens_and_no_other():
    keys = ApiKeys(lambda: hashes(old="alpha", new="beta"))
    assert keys.know("alpha")
    assert keys.know("beta")
    for other in ("", "gamma", "Alpha", "alpha ", "old", sha256(b"alpha").hexdigest(), "\ud800"):
        assert not keys.know(other)


def test_a_new_key_opens_and_a_withdrawn_one_does_not_after_a_minute():
    clock, texts = Clock(), [hashes(old="alpha"), hashes(new="beta")]
    keys = ApiKeys(lambda: texts[0], clock)
    texts.pop(0)
    assert keys.know("alpha")
    clock.now += SECONDS_TO_NOTICE
    assert (keys.know("alpha"), keys.know("beta")) == (False, True)


def test_keys_stay_known_while_their_secret_cannot_be_read():
    clock, asked = Clock(), []

    def read():
        asked.append(clock.now)
        if len(asked) > 1:
            raise SecretUnreadable("away")
        return hashes(a="alpha")

    keys = ApiKeys(read, clock)
    clock.now += SECONDS_TO_NOTICE
    assert keys.know("alpha")
    assert keys.know("alpha")
    assert asked == [0, SECONDS_TO_NOTICE]


@pytest.mark.parametrize(
    "text", ["", "[]", "alpha", '{"a": "alpha"}', '{"a": 7}', '{"a": "' + "F" * 64 + '"}']
)
def test_a_secret_without_hashes_is_refused_and_not_shown(text):
    with pytest.raises(SettingsInvalid, match=r"^the secret of TASKMILL_API_KEYS_SECRET") as answer:
        ApiKeys(lambda: text)
    assert "alpha" not in str(answer.value)


def test_a_secret_without_keys_lets_nobody_in():
    assert not ApiKeys(lambda: "{}").know("")


def settings(env, **secrets):
    return Settings.from_env(env, needs=NEEDS, vault=Cupboard(secrets=secrets).as_vault())


def test_the_keys_are_read_by_the_name_of_their_secret():
    read = settings(
        HERE | {"TASKMILL_API_KEYS_SECRET": "keys"}, keys=hashes(a="alpha")
    ).read_api_keys
    assert ApiKeys(read).know("alpha")


def test_the_switch_opens_the_gateway_on_a_machine_of_ones_own():
    assert settings(HERE | {"TASKMILL_OPEN": "1"}).read_api_keys is None


def test_the_switch_counts_more_than_keys_that_a_template_names():
    env = HERE | {"TASKMILL_OPEN": "1", "TASKMILL_API_KEYS_SECRET": "keys"}
    assert settings(env).read_api_keys is None


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({}, "TASKMILL_API_KEYS_SECRET is missing: the gateway does not start without API keys"),
        (
            {"TASKMILL_OPEN": "yes"},
            "TASKMILL_API_KEYS_SECRET is missing: the gateway does not start without API keys",
        ),
        (
            {"TASKMILL_OPEN": "1", "AWS_SESSION_TOKEN": "t"},
            "TASKMILL_OPEN is for the local runtime only: remove it and set API keys",
        ),
        (
            {"TASKMILL_OPEN": "1", "LAMBDA_TASK_ROOT": "/var/task"},
            "TASKMILL_OPEN is for the local runtime only: remove it and set API keys",
        ),
        (
            {"TASKMILL_OPEN": "1", "TASKMILL_REDIS_URL": "rediss://cache.example:6379/0"},
            (
                "TASKMILL_OPEN is for stores on this machine only, but TASKMILL_REDIS_URL leads "
                "elsewhere: remove it and set API keys"
            ),
        ),
    ],
)
def test_a_gateway_that_would_be_open_to_the_world_does_not_start(more, complaint):
    with pytest.raises(SettingsInvalid) as refused:
        settings(HERE | more)
    assert str(refused.value) == complaint
