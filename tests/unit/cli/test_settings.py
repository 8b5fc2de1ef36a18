"""The platform's settings from the environment."""

from datetime import timedelta
from pathlib import Path

import pytest

from taskmill_local.plan import FunctionPlan
from taskmill_local.settings import ProjectMissing, Settings, SettingsRefused
from taskmill_local.stores.start import Ports


@pytest.fixture
def project(tmp_path):
    (tmp_path / "template.yaml").touch()
    return tmp_path.resolve()


def a_function(name, concurrency):
    return FunctionPlan(
        name=name,
        handler="handler",
        code=Path(),
        timeout=timedelta(seconds=1),
        memory_mb=128,
        concurrency=concurrency,
        environment={},
    )


def test_without_a_word_a_project_runs_on_its_own_home_and_port(project):
    settings = Settings.from_environment({}, folder=project)

    assert (settings.root, settings.home, settings.port) == (project, project / ".taskmill", 8080)


def test_a_project_is_found_from_a_folder_within_it(project):
    inner = project / "functions" / "gateway"
    inner.mkdir(parents=True)

    assert Settings.from_environment({}, folder=inner).root == project


def test_a_home_is_meant_from_where_one_stands(project):
    settings = Settings.from_environment({"TASKMILL_HOME": "data"}, folder=project)

    assert settings.home == project / "data"


def test_no_project_is_said_with_what_to_do(tmp_path):
    with pytest.raises(ProjectMissing, match="set TASKMILL_ROOT"):
        Settings.from_environment({}, folder=tmp_path)


def test_a_root_without_a_template_is_refused(tmp_path):
    with pytest.raises(ProjectMissing, match="TASKMILL_ROOT is"):
        Settings.from_environment({"TASKMILL_ROOT": "."}, folder=tmp_path)


def test_a_setting_that_nobody_knows_is_refused(project):
    with pytest.raises(
        SettingsRefused, match="TASKMILL_PORTS is not a setting, but TASKMILL_PORT is"
    ):
        Settings.from_environment({"TASKMILL_PORTS": "0"}, folder=project)


def test_all_wrong_settings_are_named_at_once(project):
    wrong = {
        "TASKMILL_PORT": "70000",
        "TASKMILL_CONCURRENCY": "many",
        "TASKMILL_BACKOFF_SECONDS": "0",
        "TASKMILL_REDIS_URL": "localhost:6379",
    }

    with pytest.raises(SettingsRefused) as refused:
        Settings.from_environment(wrong, folder=project)

    assert [name for name in wrong if name not in str(refused.value)] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"TASKMILL_KAFKA_BROKERS": "127.0.0.1:9092,b-1.example:9092"},
        {"TASKMILL_REDIS_URL": "redis://10.0.0.5:6379/0"},
        {"TASKMILL_REDIS_URL": "rediss://cache.example:6379/0"},
        {"TASKMILL_POSTGRES_DSN": "postgresql://app@ledger.example/taskmill"},
        {"TASKMILL_POSTGRES_DSN": "postgresql://app@[::1/taskmill"},
    ],
)
def test_stores_of_ones_own_must_be_on_this_machine(project, wrong):
    with pytest.raises(SettingsRefused, match=next(iter(wrong))):
        Settings.from_environment(wrong, folder=project)


@pytest.mark.parametrize(
    ("environment", "caps"),
    [
        ({}, {"Gateway": 8, "Scheduler": 3, "EchoWorker": 2, "Lonely": 1}),
        (
            {"TASKMILL_CONCURRENCY": "4"},
            {"Gateway": 8, "Scheduler": 3, "EchoWorker": 4, "Lonely": 1},
        ),
    ],
)
def test_a_laptop_runs_fewer_environments_than_the_cloud(project, environment, caps):
    deployed = {"Gateway": 100, "Scheduler": 4, "EchoWorker": 50, "Lonely": 1}
    functions = {name: a_function(name, number) for name, number in deployed.items()}

    assert Settings.from_environment(environment, folder=project).caps(functions) == caps


def test_a_mapping_backs_off_for_five_seconds_at_most_unless_told_otherwise(project):
    waits = [
        Settings.from_environment(answer, folder=project).limits.delay_after(100)
        for answer in ({}, {"TASKMILL_BACKOFF_SECONDS": "1"})
    ]

    assert waits == [timedelta(seconds=5), timedelta(seconds=1)]


def test_the_pace_is_handed_on_to_the_functions(project):
    answer = {"TASKMILL_LEASE_MS": "4000", "TASKMILL_PORT": "0"}
    settings = Settings.from_environment(answer, folder=project)

    assert settings.pace == {"TASKMILL_LEASE_MS": "4000"}


def test_ports_of_the_stores_are_as_they_were_unless_a_setting_says_otherwise(project):
    answer = {"TASKMILL_KAFKA_PORT": "29092", "TASKMILL_BUCKET_PORT": "29000"}
    assert Settings.from_environment({}, folder=project).ports == Ports()
    assert Settings.from_environment(answer, folder=project).ports == Ports(
        kafka=29092, bucket=29000
    )
    with pytest.raises(SettingsRefused, match="TASKMILL_REDIS_PORT must be a whole number"):
        Settings.from_environment({"TASKMILL_REDIS_PORT": "x"}, folder=project)
