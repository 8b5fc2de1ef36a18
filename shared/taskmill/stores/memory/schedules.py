"""Schedules in memory, together with the ledger's rows and the enqueued requests."""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, count, takewhile

from msgspec.structs import replace

from taskmill.core.ports import Clock
from taskmill.core.task import Millis, TaskId
from taskmill.schedules.schedule import (
    OCTETS_AT_A_TIME,
    OPEN_TASKS,
    Draft,
    DueSchedules,
    Fire,
    FireRefused,
    FireTally,
    LastFire,
    Schedule,
    ScheduleStep,
    Whereabouts,
)
from taskmill.stores.memory.enqueued import MemoryRequests
from taskmill.stores.memory.ledger import MemoryLedger


class MemorySchedules:
    """Both the edits of people and the firing of schedulers."""

    def __init__(
        self,
        ledger: Callable[[], MemoryLedger],
        requests: MemoryRequests,
        clock: Clock,
        *,
        octets_at_a_time: int = OCTETS_AT_A_TIME,
    ) -> None:
        self._ledger = ledger
        self._requests = requests
        self._clock = clock
        self._octets_at_a_time = octets_at_a_time
        self._kept: dict[tuple[str, str], Schedule] = {}
        self._look_at: dict[tuple[str, str], Millis | None] = {}
        self._revisions = count(1)

    def now(self) -> Millis:
        self._ledger().ask()
        return self._clock()

    def find(self, tenant: str, name: str) -> Schedule | None:
        self._ledger().ask()
        kept = self._kept.get((tenant, name))
        return kept and self._shown(kept)

    def page(self, tenant: str, *, after: str, limit: int) -> Sequence[Schedule]:
        self._ledger().ask()
        kept = sorted((one for one in self._kept.values() if one.tenant == tenant), key=_name)
        return [self._shown(one) for one in kept if one.name > after][:limit]

    def make(self, draft: Draft) -> bool:
        now = self.now()
        if (draft.tenant, draft.name) in self._kept:
            return False
        self._keep(
            Schedule(
                tenant=draft.tenant,
                name=draft.name,
                definition=draft.definition,
                revision=next(self._revisions),
                is_managed=draft.is_managed,
                next_at_ms=draft.next_at_ms,
                decided_at_ms=draft.decided_at_ms,
                held=draft.held,
                paused=draft.paused,
                created_at_ms=now,
                changed_at_ms=now,
            )
        )
        return True

    def change(self, seen: Schedule, draft: Draft) -> bool:
        now = self.now()
        kept = self._as_seen(seen)
        if kept is None or kept.next_at_ms != seen.next_at_ms:
            return False
        self._keep(
            replace(
                kept,
                definition=draft.definition,
                revision=next(self._revisions),
                is_managed=draft.is_managed,
                next_at_ms=draft.next_at_ms,
                decided_at_ms=draft.decided_at_ms,
                held=draft.held,
                paused=draft.paused,
                tally=_more(kept.tally, draft),
                changed_at_ms=now,
            )
        )
        return True

    def delete(self, seen: Schedule) -> bool:
        self._ledger().ask()
        if self._as_seen(seen) is None:
            return False
        del self._kept[seen.tenant, seen.name]
        return True

    def trigger(self, seen: Schedule, fire: Fire) -> bool:
        now = self.now()
        kept = self._as_seen(seen)
        if kept is None:
            return False
        name = (kept.tenant, kept.name)
        self._kept[name] = replace(
            kept,
            last=LastFire(fire.nominal_ms, now, fire.request.task_id),
            open_tasks=[*kept.open_tasks, fire.request.task_id][-OPEN_TASKS:],
            tally=replace(kept.tally, fired=kept.tally.fired + 1),
        )
        self._requests.add([fire.request])
        return True

    def backfill(self, seen: Schedule, fires: Sequence[Fire]) -> bool:
        self._ledger().ask()
        kept = self._as_seen(seen)
        if kept is None:
            return False
        tally = replace(kept.tally, backfilled=kept.tally.backfilled + len(fires))
        self._kept[kept.tenant, kept.name] = replace(kept, tally=tally)
        self._requests.add([fire.request for fire in fires])
        return True

    def due(self, *, most: int) -> DueSchedules:
        now = self.now()
        due = [
            (look_at, name)
            for name, kept in self._kept.items()
            if (look_at := self._look_at[name]) is not None and look_at <= now
        ]
        line = [self._kept[name] for _, name in sorted(due)]
        before = accumulate((one.definition.octets for one in line), initial=0)
        room = takewhile(lambda octets: octets < self._octets_at_a_time, before)
        result = [one for one, _ in zip(line[:most], room, strict=False)]
        return DueSchedules(now, result, has_more=len(result) == most or len(result) < len(line))

    def whereabouts(self, tasks: Sequence[TaskId]) -> Mapping[TaskId, Whereabouts]:
        self._ledger().ask()
        return {task_id: self._where(task_id) for task_id in tasks}

    def advance(self, steps: Sequence[ScheduleStep]) -> Sequence[ScheduleStep]:
        now = self.now()
        return [step for step in steps if self._advance(step, now)]

    def _advance(self, step: ScheduleStep, now: Millis) -> bool:
        seen = step.seen
        kept = self._as_seen(seen)
        if kept is None or (kept.next_at_ms, kept.last) != (seen.next_at_ms, seen.last):
            return False
        last = step.fires[-1] if step.fires else None
        tally = _more(kept.tally, step)
        moved = replace(
            kept,
            next_at_ms=step.next_at_ms,
            decided_at_ms=step.decided_at_ms,
            held=step.held,
            last=LastFire(last.nominal_ms, now, last.request.task_id) if last else kept.last,
            open_tasks=list(step.open_tasks),
            tally=replace(tally, fired=tally.fired + len(step.fires)),
        )
        self._keep(moved, look_at=step.look_at_ms)
        self._requests.add([fire.request for fire in step.fires])
        return True

    def _as_seen(self, seen: Schedule) -> Schedule | None:
        kept = self._kept.get((seen.tenant, seen.name))
        return kept if kept is not None and kept.revision == seen.revision else None

    def _keep(self, schedule: Schedule, *, look_at: Millis | None = None) -> None:
        name = (schedule.tenant, schedule.name)
        self._kept[name] = schedule
        self._look_at[name] = schedule.next_at_ms if look_at is None else look_at

    def _shown(self, kept: Schedule) -> Schedule:
        request = self._requests.find(kept.last.task_id) if kept.last else None
        parked = request.parked if request else None
        return replace(kept, refused=FireRefused(parked.reason, parked.detail) if parked else None)

    def _where(self, task_id: TaskId) -> Whereabouts:
        request, row = self._requests.find(task_id), self._ledger().rows.get(task_id)
        if request is not None and request.parked is None:
            return Whereabouts.ENQUEUED
        if row is not None:
            return Whereabouts.OVER if row.status.is_final else Whereabouts.LIVING
        return Whereabouts.UNKNOWN if request is None else Whereabouts.OVER


def _name(schedule: Schedule) -> str:
    return schedule.name


def _more(tally: FireTally, result: ScheduleStep | Draft) -> FireTally:
    return replace(
        tally, skipped=tally.skipped + result.skipped, missed=tally.missed + result.missed
    )
