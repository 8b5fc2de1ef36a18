"""The doctor asks the stores that are meant, with the settings of the system that is meant."""

import pytest

from taskmill_local.cli.doctor import addressed
from taskmill_local.cli.text import counted
from taskmill_local.errors import PlatformError

PAGE = {
    "settings": {"TASKMILL_SHARDS": "4", "TASKMILL_LEASE_MS": "4000"},
    "stores": {
        "Kafka": {"address": "127.0.0.1:20001"},
        "Valkey": {"address": "redis://127.0.0.1:20002/0"},
        "PostgreSQL": {"address": "postgresql://taskmill_app@127.0.0.1:20003/taskmill"},
    },
}


def test_the_settings_are_those_of_the_system_that_runs_and_not_of_this_shell(stub):
    stub.answers(PAGE)
    shell = {"PATH": "/bin", "TASKMILL_LEASE_MS": "9000", "TASKMILL_RETENTION_DAYS": "1"}
    assert addressed(shell, stub.url) == {
        "PATH": "/bin",
        "TASKMILL_SHARDS": "4",
        "TASKMILL_LEASE_MS": "4000",
        "TASKMILL_KAFKA_BROKERS": "127.0.0.1:20001",
        "TASKMILL_REDIS_URL": "redis://127.0.0.1:20002/0",
        "TASKMILL_POSTGRES_DSN": "postgresql://taskmill_app@127.0.0.1:20003/taskmill",
    }


def test_stores_that_this_shell_names_are_asked_with_its_settings(stub):
    shell = {"TASKMILL_REDIS_URL": "redis://127.0.0.1:1/0", "TASKMILL_SHARDS": "9"}
    assert addressed(shell, stub.url) == shell
    assert stub.requests == []


def test_something_else_that_answers_is_no_system(stub):
    stub.answers({"message": "Not Found"}, status=404)
    with pytest.raises(PlatformError, match=r"is not the local system\. Set TASKMILL_URL"):
        addressed({}, stub.url)


def test_one_is_said_as_one():
    assert (counted(1, "task"), counted(2, "task")) == ("1 task", "2 tasks")
