"""What the platform shows of itself, and what it hides."""

from datetime import timedelta
from pathlib import Path

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
        "TASKMILL_WEBHOOK_SECRET_FILE": str(tmp_path.resolve() / ".taskmill/webhook_secrets.json"),
    }
