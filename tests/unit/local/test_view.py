"""What the platform shows of itself, and what it hides."""

from datetime import timedelta
from pathlib import Path

import pytest

from taskmill_local.mappings.snapshot import MappingSnapshot
from taskmill_local.plan import FunctionPlan
from taskmill_local.settings import Settings
from taskmill_local.view import settings_view


def test_the_settings_of_the_system_are_told_without_secrets_and_addresses(tmp_path):
    (tmp_path / "template.yaml").touch()
    settings = Settings.from_environment({"TASKMILL_LEASE_MS": "4000"}, folder=tmp_path)
    plan = FunctionPlan(
        name="Scheduler",
        handler="handler",
        code=Path(),
        timeout=timedelta(seconds=1),
        memory_mb=128,
        concurrency=1,
        environment={
            "TASKMILL_SHARDS": "4",
            "TASKMILL_POSTGRES_DSN": "postgresql://me:secret@here/ledger",
            "TASKMILL_POSTGRES_SECRET": "arn",
            "POWERTOOLS_LOG_LEVEL": "INFO",
        },
    )
    assert settings_view(plan, settings) == {
        "TASKMILL_SHARDS": "4",
        "TASKMILL_LEASE_MS": "4000",
        "TASKMILL_OPEN": "1",
        "TASKMILL_WORKER_PARTITIONS": "2",
        "TASKMILL_WEBHOOK_SECRET_FILE": str(tmp_path.resolve() / ".taskmill/webhook_secrets.json"),
    }


@pytest.mark.parametrize(
    ("topic", "backlog"), [("tasks.pending", 7), ("tasks.events", 7), ("tasks.worker.echo", 0)]
)
def test_what_only_starts_a_process_is_no_backlog(topic, backlog):
    """An invocation of a worker lasts for minutes, and its record is committed at its end."""
    snapshot = MappingSnapshot(
        function="Any",
        topic=topic,
        lag={0: 3, 1: 4},
        waiting=0,
        in_flight=2,
        batches=0,
        records=0,
        failures=0,
        last_error=None,
        backing_off={},
    )
    assert snapshot.backlog == backlog
