"""Schedules, in PostgreSQL: edits by people and firing by schedulers."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from taskmill.core.errors import ScheduleBroken
from taskmill.core.task import Millis, TaskId
from taskmill.schedules.schedule import (
    OCTETS_AT_A_TIME,
    OPEN_TASKS,
    Definition,
    Draft,
    DueSchedules,
    Fire,
    FireRefused,
    FireTally,
    LastFire,
    Pausing,
    Schedule,
    ScheduleStep,
    Whereabouts,
)
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Database

_log = logging.getLogger("taskmill.schedules")


class PostgresSchedules:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._read_time = queries.load("schedules/tell_time")
        self._read = queries.load("schedules/read_schedules")
        self._make = queries.load("schedules/make_schedule")
        self._change = queries.load("schedules/change_schedule")
        self._delete = queries.load("schedules/delete_schedule")
        self._trigger = queries.load("schedules/trigger_schedule")
        self._backfill = queries.load("schedules/backfill_schedule")

    def now(self) -> Millis:
        ((row),) = self._database.fetch(self._read_time, {})
        return Millis(row["now_ms"])

    def find(self, tenant: str, name: str) -> Schedule | None:
        parameters = {"tenant": tenant, "name": name, "after": "", "limit": 1}
        rows = self._database.fetch(self._read, parameters)
        return _schedule(rows[0]) if rows else None

    def page(self, tenant: str, *, after: str, limit: int) -> Sequence[Schedule]:
        parameters = {"tenant": tenant, "name": None, "after": after, "limit": limit}
        return [_schedule(row) for row in self._database.fetch(self._read, parameters)]

    def make(self, draft: Draft) -> bool:
        return bool(self._database.fetch(self._make, _draft_fields(draft)))

    def change(self, schedule: Schedule, draft: Draft) -> bool:
        return bool(self._database.fetch(self._change, _draft_fields(draft) | _name(schedule)))

    def delete(self, schedule: Schedule) -> bool:
        return bool(self._database.fetch(self._delete, _name(schedule)))

    def trigger(self, schedule: Schedule, fire: Fire) -> bool:
        parameters = _request_fields(fire) | {"nominal_ms": fire.nominal_ms, "most": OPEN_TASKS}
        parameters["request"] = fire.request.request.decode()
        return bool(self._database.fetch(self._trigger, _name(schedule) | parameters))

    def backfill(self, schedule: Schedule, fires: Sequence[Fire]) -> bool:
        parameters = {
            "fires": _json([{"place": n} | _request_fields(one) for n, one in enumerate(fires)])
        }
        return bool(self._database.fetch(self._backfill, _name(schedule) | parameters))


class PostgresFiring:
    def __init__(self, database: Database, *, octets_at_a_time: int = OCTETS_AT_A_TIME) -> None:
        self._database = database
        self._octets_at_a_time = octets_at_a_time
        self._due = queries.load("schedules/list_due_schedules")
        self._find = queries.load("schedules/find_whereabouts")
        self._advance = queries.load("schedules/advance_schedules")
        self._unreadable: set[int] = set()

    def due(self, *, most: int) -> DueSchedules:
        parameters = {
            "most": most,
            "octets": self._octets_at_a_time,
            "unreadable": list(self._unreadable),
        }
        rows = self._database.fetch(self._due, parameters)
        now_ms = Millis(rows[0]["now_ms"] if rows else 0)
        schedules = [one for one in map(self._if_it_can_be_read, rows) if one is not None]
        return DueSchedules(now_ms, schedules, has_more=bool(rows) and rows[0]["has_more"])

    def whereabouts(self, tasks: Sequence[TaskId]) -> Mapping[TaskId, Whereabouts]:
        rows = self._database.fetch(self._find, {"tasks": list(tasks)}) if tasks else []
        return {TaskId(row["id"]): Whereabouts(row["whereabouts"]) for row in rows}

    def advance(self, steps: Sequence[ScheduleStep]) -> Sequence[ScheduleStep]:
        fires = [(step.seen, fire) for step in steps for fire in step.fires]
        parameters = {
            "steps": _json([_step(one) for one in steps]),
            "fires": _json(
                [
                    {"place": place, "tenant": schedule.tenant, "name": schedule.name}
                    | _request_fields(fire)
                    for place, (schedule, fire) in enumerate(fires)
                ]
            ),
        }
        names = {
            (row["tenant"], row["name"]) for row in self._database.fetch(self._advance, parameters)
        }
        return [step for step in steps if (step.seen.tenant, step.seen.name) in names]

    def _if_it_can_be_read(self, row: Mapping[str, Any]) -> Schedule | None:
        """Leave a schedule written by a newer version to the schedulers of that version.

        It stays due for them, and is skipped here as long as it has this revision.
        """
        try:
            return _schedule(row)
        except ScheduleBroken as error:
            _log.warning("schedule cannot be decoded", extra={"why": str(error)})
            self._unreadable.add(row["revision"])
            return None


def _name(schedule: Schedule) -> dict[str, Any]:
    return {
        "tenant": schedule.tenant,
        "name": schedule.name,
        "revision": schedule.revision,
        "seen_ms": schedule.next_at_ms,
    }


def _draft_fields(draft: Draft) -> dict[str, Any]:
    return {
        "tenant": draft.tenant,
        "name": draft.name,
        "definition": _json(draft.definition),
        "is_managed": draft.is_managed,
        "next_at_ms": draft.next_at_ms,
        "decided_at_ms": draft.decided_at_ms,
        "held_ms": list(draft.held),
        "skipped": draft.skipped,
        "missed": draft.missed,
        "paused_at_ms": draft.paused.at_ms if draft.paused else None,
        "paused_by": draft.paused.by if draft.paused else None,
    }


def _request_fields(fire: Fire) -> dict[str, Any]:
    request = fire.request
    return {
        "task_id": request.task_id,
        "submission": request.submission,
        "request": Raw(request.request),
    }


def _step(step: ScheduleStep) -> dict[str, Any]:
    last = step.fires[-1] if step.fires else None
    return _name(step.seen) | {
        "seen_task_id": step.seen.last.task_id if step.seen.last else None,
        "next_at_ms": step.next_at_ms,
        "look_at_ms": step.look_at_ms,
        "decided_at_ms": step.decided_at_ms,
        "held_ms": list(step.held),
        "fired": len(step.fires),
        "skipped": step.skipped,
        "missed": step.missed,
        "nominal_ms": last.nominal_ms if last else None,
        "task_id": last.request.task_id if last else None,
        "open_tasks": list(step.open_tasks),
    }


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _schedule(row: Mapping[str, Any]) -> Schedule:
    return Schedule(
        tenant=row["tenant"],
        name=row["name"],
        definition=_definition(row),
        revision=row["revision"],
        is_managed=row["is_managed"],
        next_at_ms=row["next_at_ms"],
        decided_at_ms=row["decided_at_ms"],
        held=row["held_ms"],
        paused=Pausing(row["paused_at_ms"], row["paused_by"]) if row["paused_by"] else None,
        last=_last(row),
        refused=FireRefused(row["refused_code"], row["refused_detail"])
        if row["refused_code"]
        else None,
        open_tasks=[TaskId(one) for one in row["open_tasks"]],
        tally=FireTally(row["fired"], row["skipped"], row["missed"], row["backfilled"]),
        created_at_ms=row["created_at_ms"],
        changed_at_ms=row["changed_at_ms"],
    )


def _definition(row: Mapping[str, Any]) -> Definition:
    try:
        return msgspec.json.decode(row["definition"], type=Definition)
    except msgspec.ValidationError as error:
        why = (
            f"the schedule {row['name']} was written by a newer version and cannot be read by this"
            " one"
        )
        raise ScheduleBroken(f"{why}: {error}") from error


def _last(row: Mapping[str, Any]) -> LastFire | None:
    if row["last_task_id"] is None:
        return None
    return LastFire(row["last_nominal_ms"], row["last_fired_at_ms"], TaskId(row["last_task_id"]))
