"""Webhook settings, and those that a deployed stage refuses."""

import pytest

from functions.workers.webhook.settings import WebhookSettings
from taskmill.core.errors import SettingsInvalid
from tests.unit.settings.vault import Cupboard

HERE = {
    "TASKMILL_KAFKA_BROKERS": "127.0.0.1:9092",
    "TASKMILL_REDIS_URL": "redis://127.0.0.1:6379/0",
}
AWAY = HERE | {"TASKMILL_REDIS_URL": "rediss://redis.example:6379/0"}
DEPLOYED = [HERE | {"AWS_SESSION_TOKEN": "x"}, HERE | {"LAMBDA_TASK_ROOT": "/var/task"}, AWAY]
NAMED = {"TASKMILL_WEBHOOK_SECRET": "hooks"}


def read(env, **secrets):
    return WebhookSettings.from_env(env, vault=Cupboard(secrets).as_vault())


def complaint(env):
    with pytest.raises(SettingsInvalid) as refused:
        read(env)
    return str(refused.value)


def test_the_secret_is_read_by_its_name_and_always_anew():
    cupboard = Cupboard({"hooks": "{}"})
    settings = WebhookSettings.from_env(HERE | NAMED, vault=cupboard.as_vault())
    assert cupboard.asked == []
    assert settings.read_secrets() == "{}"
    assert cupboard.asked == [("hooks", True)]
    assert not settings.reaches_loopback


def test_a_file_stands_for_the_secret_on_a_machine_of_one_s_own(tmp_path):
    file = tmp_path / "secrets.json"
    settings = read(HERE | NAMED | {"TASKMILL_WEBHOOK_SECRET_FILE": str(file)})
    assert settings.read_secrets() == ""
    file.write_text("{}")
    assert settings.read_secrets() == "{}"


def test_the_host_of_the_own_api_is_known_as_names_are_compared():
    assert (
        read(HERE | NAMED | {"TASKMILL_API_HOST": "API.example.com"}).api_host == "api.example.com"
    )


def test_without_a_secret_the_worker_does_not_start():
    assert complaint(HERE) == (
        "TASKMILL_WEBHOOK_SECRET is missing: set the secret that webhooks are signed with"
    )


@pytest.mark.parametrize("env", DEPLOYED)
@pytest.mark.parametrize("setting", ["LOOPBACK", "SECRET_FILE"])
def test_a_deployed_stage_refuses_what_is_for_a_laptop(env, setting):
    answer = complaint(env | NAMED | {f"TASKMILL_WEBHOOK_{setting}": "1"})
    assert answer == (f"TASKMILL_WEBHOOK_{setting} is for the local runtime only: remove it")


def test_webhooks_reach_this_machine_only_when_told():
    assert read(HERE | NAMED | {"TASKMILL_WEBHOOK_LOOPBACK": "1"}).reaches_loopback
    for word in ("0", "", "true"):
        assert not read(HERE | NAMED | {"TASKMILL_WEBHOOK_LOOPBACK": word}).reaches_loopback


def test_an_authority_must_be_there():
    answer = complaint(HERE | NAMED | {"TASKMILL_WEBHOOK_CA_FILE": "/nowhere.pem"})
    assert answer == "TASKMILL_WEBHOOK_CA_FILE is '/nowhere.pem', but there is no such file"
