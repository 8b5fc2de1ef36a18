"""Compares ledger, log and Redis and finds refused requests; changes nothing."""

import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from msgspec import to_builtins
from msgspec.structs import asdict

from taskmill.core.errors import SettingsInvalid, StoreUnavailable
from taskmill.core.task import DEFAULT_TENANT, Millis, TaskType
from taskmill.core.time import in_ms
from taskmill.insight.types import TypeState, WorkerState, states_of
from taskmill.platform import process
from taskmill.recovery.divergence import ABOUT, Diverged, Divergence
from taskmill.recovery.health import (
    DUE_IS_TAKEN_WITHIN,
    LaneHealth,
    ShardHealth,
    ShardState,
    cold_lanes,
    nobody_rebuilds,
    nobody_takes,
    rebuild_drags,
)
from taskmill.recovery.log_gaps import gaps_of
from taskmill.recovery.reconcile import PATIENCE, Reconciler, ReconcilerStores, unsubmitted
from taskmill.schedules.declare import misfits
from taskmill.settings import Settings
from taskmill.settings.known import PREFIX
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.enqueued import PostgresRequests
from taskmill.stores.postgres.outbox import PostgresOutbox
from taskmill.stores.postgres.schedules import PostgresSchedules
from taskmill.stores.redis.health import RedisLaneStates, RedisShards
from taskmill.stores.redis.session import Session
from taskmill_local.cli.api import Api
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.printing import as_line, print_json, print_line
from taskmill_local.cli.text import counted
from taskmill_local.errors import PlatformError
from taskmill_local.settings import PORT_SETTINGS

_YOUNG: Final = timedelta(hours=1)
_EXAMPLES: Final = 3
_MOST_REFUSED: Final = 200
_STORES: Final = {
    "TASKMILL_KAFKA_BROKERS": "Kafka",
    "TASKMILL_REDIS_URL": "Valkey",
    "TASKMILL_POSTGRES_DSN": "PostgreSQL",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Complaint:
    kind: str
    about: str
    remedy: str
    members: Sequence[Mapping[str, Any]]
    examples: Sequence[str]


def examine(environment: Mapping[str, str], url: str, *, as_json: bool) -> Exit:
    """Check twice, as the reconciler does, and return the persistent disagreements."""
    try:
        settings = Settings.from_env(
            addressed(environment, url), needs=("kafka", "redis", "postgres")
        )
        stores = process.open_stores(settings, name="doctor")
        reconciler = Reconciler(stores)
        complaints = [
            *_cold(settings),
            *of_types(states_of([one.name for one in stores.catalogue.entries()], stores, None)),
            *_looked_twice(reconciler),
            *_never_seen(reconciler.stores),
            *_unfit(settings),
            *_refused(settings),
            *_lost(settings),
        ]
    except (SettingsInvalid, StoreUnavailable) as error:
        raise PlatformError(f"The comparison is not possible: {error}.") from error
    if as_json:
        print_json({one.kind: one.members for one in complaints})
    else:
        print_line(_as_text(complaints))
    return Exit.OTHERWISE if complaints else Exit.DONE


def addressed(environment: Mapping[str, str], url: str) -> Mapping[str, str]:
    """Return the settings of the running local system, unless stores are configured.

    This shell's settings may differ from those that the system was started with.
    """
    if any(name in environment for name in _STORES):
        return {name: value for name, value in environment.items() if name not in PORT_SETTINGS}
    page = Api(url).platform().body
    if "stores" not in page:
        raise PlatformError(
            f"The server at {url} is not the local system. Set TASKMILL_URL to where it runs, or "
            f"name the stores: {', '.join(_STORES)}."
        )
    addresses = {name: page["stores"][store]["address"] for name, store in _STORES.items()}
    others = {name: value for name, value in environment.items() if not name.startswith(PREFIX)}
    return {**others, **page["settings"], **addresses}


def _cold(settings: Settings) -> Iterator[_Complaint]:
    """Return the shards and lanes that keep tasks from running."""
    catalogue = AssembledCatalogue(reaches_loopback=settings.reaches_loopback)
    with closing(Session(settings.redis)) as session:
        shards = RedisShards(session, shards=settings.shards).check()
        lanes = RedisLaneStates(session, catalogue).check()
    yield from of_shards(shards)
    yield from of_lanes(lanes)


def of_shards(shards: Sequence[ShardHealth]) -> Iterator[_Complaint]:
    """Return what keeps tasks from running, shard by shard."""
    views = [{"shard": number, **to_builtins(one)} for number, one in enumerate(shards)]
    cold = [one for one in views if one["state"] != ShardState.LIVE]
    if about := nobody_rebuilds(shards) or rebuild_drags(shards):
        yield _Complaint(
            kind="cold_shards",
            about=about,
            remedy="check the scheduler's log, and compare TASKMILL_SHARDS with its setting",
            members=cold,
            examples=[f"shard {one['shard']}: {one['state']}" for one in cold],
        )
    late = [one for one in views if one["overdue_ms"] > in_ms(DUE_IS_TAKEN_WITHIN)]
    if about := nobody_takes(shards):
        yield _Complaint(
            kind="overdue",
            about=about,
            remedy="start the scheduler, or check its log",
            members=late,
            examples=[f"shard {one['shard']}: {one['overdue_ms']} ms" for one in late],
        )
    lost = [one for one in views if one["unlisted"]]
    if lost:
        meaning, remedy = ABOUT[Divergence.UNLISTED]
        yield _Complaint(
            kind=Divergence.UNLISTED,
            about=f"{sum(one['unlisted'] for one in lost)} entries, {meaning}",
            remedy=f"the scheduler would {remedy}",
            members=lost,
            examples=[f"shard {one['shard']}: {one['unlisted']}" for one in lost],
        )


def of_lanes(lanes: Sequence[LaneHealth]) -> Iterator[_Complaint]:
    """Return what keeps tasks from being taken, lane by lane."""
    if about := cold_lanes(lanes):
        cold = [one for one in lanes if one.state is not ShardState.LIVE]
        yield _Complaint(
            kind="cold_lanes",
            about=about,
            remedy="check the scheduler's log, and whether it runs the deployed version",
            members=[to_builtins(one) for one in cold],
            examples=[f"{one.type}: {one.state}" for one in cold],
        )


def of_types(states: Mapping[TaskType, TypeState]) -> Iterator[_Complaint]:
    """Return types whose tasks no process takes."""
    waits = {
        name: one.oldest_wait_seconds or 0
        for name, one in states.items()
        if one.worker is WorkerState.ABSENT
    }
    if waits:
        yield _Complaint(
            kind="absent_workers",
            about=f"{counted(len(waits), 'type')} with waiting tasks that no process takes",
            remedy="check the worker's log; on this machine `taskmill types` has the error",
            members=[{"type": name, "waits_seconds": span} for name, span in waits.items()],
            examples=[f"{name}: the oldest for {span:.0f} s" for name, span in waits.items()],
        )


def _never_seen(stores: ReconcilerStores) -> Iterator[_Complaint]:
    """Return the parts of the log that the ledger lacks."""
    if gaps := gaps_of(stores.readers, stores.whole_rows):
        yield _Complaint(
            kind="log_gaps",
            about=f"{counted(len(gaps), 'partition')}, whose readers moved past records that the"
            " ledger lacks",
            remedy="the scheduler skips lost records; have the others read again",
            members=[asdict(gap) for gap in gaps],
            examples=[
                f"{one.topic}/{one.partition} from {one.first} to {one.next},"
                f" {'some are gone' if one.is_lost else 'the log has them'}"
                for one in gaps
            ],
        )
    if lost := unsubmitted(stores.task_versions):
        yield _Complaint(
            kind="unsubmitted",
            about=f"{counted(len(lost), 'task')} with facts but, for an hour, without a submission",
            remedy="cannot be repaired; look for their submissions in the quarantine",
            members=[{"id": task_id} for task_id in lost],
            examples=lost,
        )


def _unfit(settings: Settings) -> Iterator[_Complaint]:
    """Return schedules that cannot fire because their types or zones changed."""
    catalogue = AssembledCatalogue(reaches_loopback=settings.reaches_loopback)
    with closing(Database(settings.postgres)) as database:
        schedules = PostgresSchedules(database)
        now = process.clock()
        refusals = list(misfits(schedules, catalogue, tenant=DEFAULT_TENANT, now=now))
    if refusals:
        yield _Complaint(
            kind="unfit_schedules",
            about=f"{counted(len(refusals), 'schedule')} whose tasks would be refused",
            remedy="correct or delete them",
            members=[
                {"name": one.name, "refused": why.code, "detail": why.detail, "field": why.pointer}
                for one, why in refusals
            ],
            examples=[f"{one.name}: {why.detail} (at {why.pointer})" for one, why in refusals],
        )


def _refused(settings: Settings) -> Iterator[_Complaint]:
    """Return the committed requests that will never become tasks."""
    with closing(Database(settings.postgres)) as database:
        rows = PostgresRequests(database).page(is_parked=True, before=None, most=_MOST_REFUSED)
    requests = [(one.task_id, one.parked) for one in rows if one.parked is not None]
    if requests:
        yield _Complaint(
            kind="refused_requests",
            about=f"{counted(len(requests), 'request')} that an application enqueued, refused",
            remedy=(
                "enqueue them again, corrected, then `taskmill enqueued --discard <id>`; "
                "`taskmill enqueued` lists all of them"
            ),
            members=[
                {"id": name, "refused": why.reason, "detail": why.detail, "field": why.pointer}
                for name, why in requests
            ],
            examples=[f"{name}: {why.detail} (at {why.pointer})" for name, why in requests],
        )


def _lost(settings: Settings) -> Iterator[_Complaint]:
    """Return the tasks accepted while Kafka was unavailable that were then refused."""
    with closing(Database(settings.postgres)) as database:
        tasks = PostgresOutbox(database).parked(most=_MOST_REFUSED)
    if tasks:
        yield _Complaint(
            kind="lost_in_the_outbox",
            about=f"{counted(len(tasks), 'task')} accepted without Kafka, then refused by it",
            remedy="fix the cause and clear their parked_reason, or submit them again",
            members=[{"id": one.task_id, "why": one.why} for one in tasks],
            examples=[f"{one.task_id}: {one.why}" for one in tasks],
        )


def _looked_twice(reconciler: Reconciler) -> Iterator[_Complaint]:
    for kind, members in _by_kind(_look_twice(reconciler)).items():
        meaning, remedy = ABOUT[kind]
        views = [_as_json(one) for one in members]
        yield _Complaint(
            kind=kind,
            about=f"{counted(len(members), 'task')}, {meaning}",
            remedy=f"the scheduler would {remedy}",
            members=views,
            examples=[_example(one) for one in views],
        )


def _look_twice(reconciler: Reconciler) -> Sequence[Diverged]:
    task_versions = reconciler.stores.task_versions
    since_ms = Millis(process.clock() - in_ms(_YOUNG))
    reconciler.look(task_versions.young(since_ms=since_ms))
    if not reconciler.suspected:
        return []
    sys.stderr.write(
        f"{counted(len(reconciler.suspected), 'task')} may be in progress: "
        f"checking again in {PATIENCE.total_seconds():.0f} s.\n"
    )
    time.sleep(PATIENCE.total_seconds() + 1)  # what is in progress gets this long to show up
    return reconciler.look(task_versions.young(since_ms=since_ms))


def _by_kind(divergences: Sequence[Diverged]) -> Mapping[Divergence, Sequence[Diverged]]:
    kinds: dict[Divergence, list[Diverged]] = defaultdict(list)
    for one in divergences:
        kinds[one.kind].append(one)
    return kinds


def _as_json(one: Diverged) -> dict[str, Any]:
    ledger, snapshot = one.task_version, one.seen
    record = None
    if snapshot is not None:
        record = {
            "status": snapshot.status,
            "generation": snapshot.generation,
            "turn": snapshot.turn,
        }
    return {
        "id": ledger.id,
        "type": ledger.type,
        "ledger": {
            "status": ledger.status,
            "generation": ledger.generation,
            "turn": ledger.turn,
        },
        "record": record,
    }


def _as_text(complaints: Sequence[_Complaint]) -> str:
    if not complaints:
        return "The ledger and Redis agree on every task checked."
    lines: list[str] = []
    for one in complaints:
        lines += [f"{one.kind}: {one.about}", f"  {one.remedy}"]
        lines += [f"  e.g. {as_line(example)}" for example in one.examples[:_EXAMPLES]]
    return "\n".join(lines)


def _example(one: Mapping[str, Any]) -> str:
    record = one["record"]
    state = f"{record['status']} in turn {record['turn']}" if record else "no record"
    ledger = one["ledger"]
    return (
        f"{one['id']} ({one['type']}): ledger {ledger['status']} in turn {ledger['turn']},"
        f" Redis {state}"
    )
