"""An in-memory schedule table with its use cases and a movable clock."""

import json
from datetime import UTC, datetime, timedelta

from msgspec import Raw

from taskmill.core.task import Millis
from taskmill.core.time import in_ms
from taskmill.schedules.fire_due import ScheduleFirer
from taskmill.schedules.manage import make, put
from taskmill.schedules.read import WantedSchedule
from taskmill.schedules.schedule import Definition
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.stores.memory.process import MemoryCounters
from taskmill.stores.memory.stores import MemoryStores
from tests.builders import a_fresh_envelope, started, succeeded
from tests.contracts.ledgers import batch_of

T = "default"
NOON = Millis(1_794_009_600_000)  # 2026-11-07 00:00 UTC
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000


class Scheduling:
    """One schedule table, with a clock that only tests move."""

    def __init__(self):
        self.now = NOON
        self.stores = MemoryStores(
            self.clock,
            pause=lambda _span: None,
            catalogue=AssembledCatalogue(),
            counters=MemoryCounters(),
        )
        self.ledger, self.requests = self.stores.rows, self.stores.queue
        self.schedules = self.stores.schedules
        self.cancelled = []
        self.can_cancel = True
        self.cancelling_takes = timedelta()
        self.ran_for = timedelta()
        self.on_cancel = lambda: None

    @property
    def firing(self):
        return self.schedules

    def clock(self):
        return Millis(self.now)

    def make(self, name="n", **changes):
        return make(wanted(name, **changes), self.schedules, tenant=T, by="ada").schedule

    def put(self, name="n", **changes):
        return put(wanted(name, **changes), self.schedules, tenant=T, by="ada").schedule

    def seen(self, name="n"):
        return self.schedules.find(T, name)

    def fire(self, *, behind=0):
        self.now += behind
        return ScheduleFirer(self, cancel=self.cancel, now=self.running).fire()

    def running(self):
        return self.ran_for

    def cancel(self, task_id):
        self.cancelled.append(task_id)
        self.ran_for += self.cancelling_takes
        self.on_cancel()
        return self.can_cancel

    def fired(self, name="n"):
        """Return the requested instants in seconds after midnight."""
        keys = [json.loads(kept.row.request)["idempotency_key"] for kept in self.requests.kept]
        mine = [key.partition(f"schedule:{name}:")[2] for key in keys]
        answer = [datetime.fromisoformat(one) for one in mine if one and "trigger" not in one]
        return [(in_ms(at - datetime(1970, 1, 1, tzinfo=UTC)) - NOON) // SECOND for at in answer]

    def take(self):
        """Take the enqueued requests; the ledger has them at once."""
        with self.requests.held(most=1_000) as held:
            rows = held.rows
            held.mark_done(rows)
        tasks = [a_fresh_envelope(id=row.task_id) for row in rows]
        self.ledger.record(batch_of(*tasks, *map(started, tasks)))
        return tasks

    def end(self, *tasks):
        self.ledger.record(batch_of(*map(succeeded, tasks)))


def wanted(name="n", *, enabled=None, revision=None, **changes):
    values = {"task": Raw(b'{"type":"echo"}'), "cron": "* * * * *"}
    definition = Definition(**values | changes)
    return WantedSchedule(name=name, definition=definition, enabled=enabled, revision=revision)
