"""The ledger for contract tests: its ports and its complete content."""

from dataclasses import dataclass

import msgspec
import psycopg

from taskmill.core.task import Spec
from taskmill.ledger.projection import LedgerBatch, LedgerFold
from taskmill.stores.memory.insight import MemoryFigures
from taskmill.stores.memory.ledger import MemoryLedger
from taskmill.stores.memory.quarantine import MemoryQuarantine
from taskmill.stores.memory.recovery import MemoryTaskVersions
from taskmill.stores.memory.redrive_jobs import MemoryRedriveJobs
from taskmill.stores.memory.timing import MemoryExpiries, MemoryFarTasks, MemoryShelf
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.insight import PostgresFigures
from taskmill.stores.postgres.ledger import PostgresLedger
from taskmill.stores.postgres.outbox import PostgresOutbox
from taskmill.stores.postgres.quarantine import PostgresQuarantine
from taskmill.stores.postgres.redrive_jobs import PostgresRedriveJobs
from taskmill.stores.postgres.rows import PostgresRows
from taskmill.stores.postgres.shelf import PostgresShelf
from taskmill.stores.postgres.task_versions import PostgresTaskVersions
from taskmill.stores.postgres.timing import PostgresExpiries, PostgresFarTasks
from taskmill.stores.postgres.whole_rows import PostgresWholeRows
from tests.builders import now_ms

_MOMENT = "round(extract(EPOCH FROM {0}) * 1000)::bigint AS {0}_ms"
_ROWS = f"""
SELECT
    id::text AS id, type, tenant, status, generation, turn, rank, token, largest_token,
    attempt, losses,
    round(extract(EPOCH FROM nullif(first_started_at, started_at)) * 1000)::bigint
        AS first_started_at_ms,
    {_MOMENT.format("started_at")}, {_MOMENT.format("finished_at")}, {_MOMENT.format("due_at")},
    next_attempt, cancel_requested,
    result::text AS result, result_ref::text AS result_ref, reason, error_class, error_message,
    stack,
    submission, submitted, fingerprint, idempotency_key, payload::text AS payload,
    payload_ref::text AS payload_ref, payload_size, metadata, max_attempts, timeout_seconds,
    retry::text AS retry,
    {_MOMENT.format("created_at")}, timing::text AS timing, changed,
    priority, fairness_key, index, order_ms, ordered
FROM tasks ORDER BY id
""".encode()  # noqa: S608 - no value goes in
_HISTORY = f"""
SELECT
    task_id::text AS id, generation, turn, kind, subject, {_MOMENT.format("at")},
    body::text AS body, type
FROM facts
""".encode()  # noqa: S608 - no value goes in
_QUARANTINE = b'SELECT topic, partition, "offset", member, reason, value FROM quarantine'


def batch_of(*answer):
    """Return the batch that the recorder would write for these facts."""
    story = LedgerFold()
    story.add(answer)
    return LedgerBatch(
        rows=list(story.rows.values()),
        history=list(story.history.values()),
        shelved=list(story.shelved.values()),
    )


def flat_row(row):
    columns = msgspec.structs.asdict(row)
    spec = columns.pop("spec")
    columns.pop("is_far")  # a column of its own table
    columns.pop("is_shelved")
    if spec:
        made = {"payload_size": spec.payload_size, "changed": spec.changed}
        columns |= msgspec.structs.asdict(spec) | made
    else:
        columns = (
            dict.fromkeys((*Spec.__struct_fields__, "payload_size")) | columns | {"changed": 0}
        )
    for name in ("retry", "timing", "payload_ref", "result_ref"):
        if columns[name] is not None:
            columns[name] = msgspec.json.encode(columns[name])
    for name in ("result", "result_ref", "payload", "payload_ref", "retry", "timing"):
        if columns[name] is not None:
            columns[name] = bytes(columns[name]).decode()
    return columns | {"status": str(row.status)}


def flat_entry(entry):
    columns = msgspec.structs.asdict(entry)
    return columns | {"body": bytes(entry.body).decode()}


def in_order(entries):
    return sorted(entries, key=lambda one: [str(value) for value in one.values()])


@dataclass
class MemoryTables:
    ledger: MemoryLedger

    @property
    def rows(self):
        return self.ledger

    def whole(self):
        return self.ledger

    def task_versions(self, **spans):
        return MemoryTaskVersions(lambda: self.ledger, now_ms, **spans)

    @property
    def kept(self):
        return MemoryQuarantine(lambda: self.ledger)

    def jobs(self):
        return MemoryRedriveJobs(lambda: self.ledger, now_ms)

    @property
    def outbox(self):
        return self.ledger.outbox

    def far(self, **how):
        return MemoryFarTasks(lambda: self.ledger, now_ms, **how)

    def shelf(self):
        return MemoryShelf(lambda: self.ledger)

    def expiries(self, **_how):
        return MemoryExpiries(lambda: self.ledger, now_ms)

    def figures(self, **how):
        return MemoryFigures(self.ledger, now_ms, **how)

    def table(self):
        return [flat_row(row) for _, row in sorted(self.ledger.rows.items())]

    def history(self):
        return in_order(flat_entry(entry) for entry in self.ledger.history.values())

    def quarantine(self):
        return [
            (one.topic, one.partition, one.offset, one.member, one.reason, one.value)
            for one in self.ledger.quarantined.values()
        ]

    def empty(self):
        self.ledger = MemoryLedger()


class PostgresTables:
    """The application's view; `empty` needs the owner, since only it may delete history."""

    def __init__(self, dsn, owner_dsn=None):
        self._owner_dsn = owner_dsn
        self.dsn = dsn
        self._database = Database(dsn)
        self.ledger = PostgresLedger(self._database)
        self.rows = PostgresRows(self._database)
        self.kept = PostgresQuarantine(self._database)

    def whole(self):
        return PostgresWholeRows(self._database)

    def jobs(self):
        return PostgresRedriveJobs(self._database)

    @property
    def outbox(self):
        return PostgresOutbox(self._database)

    def far(self, **how):
        return PostgresFarTasks(self._database, **how)

    def shelf(self):
        return PostgresShelf(self._database)

    def expiries(self, **how):
        return PostgresExpiries(self._database, **how)

    def task_versions(self, **spans):
        return PostgresTaskVersions(self._database, **spans)

    def table(self):
        return self._database.fetch(_ROWS, {})

    def history(self):
        return in_order(self._database.fetch(_HISTORY, {}))

    def quarantine(self):
        return [tuple(row.values()) for row in self._database.fetch(_QUARANTINE, {})]

    def figures(self, **how):
        return PostgresFigures(self._database, **how)

    def empty(self):
        with psycopg.connect(self._owner_dsn) as connection:
            connection.execute(
                "TRUNCATE tasks, facts, quarantine, applied, dead_letters, far_tasks, expiries,"
                " shelved_tasks"
            )

    def close(self):
        self._database.close()
