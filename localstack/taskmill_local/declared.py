"""Creates or updates the schedules that the project's folders declare."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import time
from typing import Any

import msgspec

from taskmill.core.errors import ScheduleBroken, StoreUnavailable
from taskmill.core.refusal import Refusal
from taskmill.core.task import DEFAULT_TENANT, Millis
from taskmill.schedules.declare import Declared, declare
from taskmill.schedules.read import WantedSchedule, read_new
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.schedules import PostgresSchedules
from taskmill_local.errors import PlatformError, StoreFailed


def declare_all(dsn: str, root: Path) -> Declared:
    """Bring the ledger's managed schedules up to date; idempotent."""
    schedules = _read(root / "shared" / "taskmill")
    with closing(Database(dsn)) as database:
        try:
            return declare(schedules, PostgresSchedules(database), tenant=DEFAULT_TENANT)
        except (StoreUnavailable, ScheduleBroken) as error:
            raise StoreFailed(
                f"The schedules of the folders cannot be declared: {error}. "
                "Is the server running, and has `taskmill migrate` been run?"
            ) from error


def _read(folder: Path) -> Sequence[WantedSchedule]:
    definitions = msgspec.json.decode((folder / "schedules.json").read_bytes(), type=list[Any])
    if not definitions:
        return []
    catalogue = AssembledCatalogue((folder / "catalogue.json").read_bytes())
    return [_schedule(one, catalogue) for one in definitions]


def _schedule(definition: Any, catalogue: AssembledCatalogue) -> WantedSchedule:
    schedule = read_new(definition, catalogue, now=Millis(int(time() * 1000)))
    if isinstance(schedule, Refusal):
        raise PlatformError(
            f"The declared schedule {definition.get('name')} is invalid: {schedule.detail} "
            f"(at {schedule.pointer}). Correct it in its folder, and run `make template`."
        )
    return schedule
