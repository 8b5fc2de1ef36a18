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
        self._schedules: dict[tuple[str, str], Schedule] = {}
        self._look_at: dict[tuple[str, str], Millis | None] = {}
        self._revisions = count(1)

    def now(self) -> Millis:
        self._ledger().ask()
        return self._clock()

    def find(self, tenant: str, name: str) -> Schedule | None:
        self._ledger().ask()
        schedule = self._schedules.get((tenant, name))
        return schedule and self._shown(schedule)

    def page(self, tenant: str, *, after: str, limit: int) -> Sequence[Schedule]:
        self._ledger().ask()
        in_order = sorted(
            (one for one in self._schedules.values() if one.tenant == tenant), key=_name
        )
        return [self._shown(one) for one in in_order if one.name > after][:limit]

    def make(self, draft: Draft) -> bool:
        now = self.now()
        if (draft.tenant, draft.name) in self._schedules:
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

    def change(self, schedule: Schedule, draft: Draft) -> bool:
        now = self.now()
        current = self._if_unchanged(schedule)
        if current is None or current.next_at_ms != schedule.next_at_ms:
            return False
        self._keep(
            replace(
                current,
                definition=draft.definition,
                revision=next(self._revisions),
                is_managed=draft.is_managed,
                next_at_ms=draft.next_at_ms,
                decided_at_ms=draft.decided_at_ms,
                held=draft.held,
                paused=draft.paused,
                tally=_more(current.tally, draft),
                changed_at_ms=now,
            )
        )
        return True

    def delete(self, schedule: Schedule) -> bool:
        self._ledger().ask()
        if self._if_unchanged(schedule) is None:
            return False
        del self._schedules[schedule.tenant, schedule.name]
        return True

    def trigger(self, schedule: Schedule, fire: Fire) -> bool:
        now = self.now()
        current = self._if_unchanged(schedule)
        if current is None:
            return False
        name = (current.tenant, current.name)
        self._schedules[name] = replace(
            current,
            last=LastFire(fire.nominal_ms, now, fire.request.task_id),
            open_tasks=[*current.open_tasks, fire.request.task_id][-OPEN_TASKS:],
            tally=replace(current.tally, fired=current.tally.fired + 1),
        )
        self._requests.add([fire.request])
        return True

    def backfill(self, schedule: Schedule, fires: Sequence[Fire]) -> bool:
        self._ledger().ask()
        current = self._if_unchanged(schedule)
        if current is None:
            return False
        tally = replace(current.tally, backfilled=current.tally.backfilled + len(fires))
        self._schedules[current.tenant, current.name] = replace(current, tally=tally)
        self._requests.add([fire.request for fire in fires])
        return True

    def due(self, *, most: int) -> DueSchedules:
        now = self.now()
        due = [
            (look_at, name)
            for name in self._schedules
            if (look_at := self._look_at[name]) is not None and look_at <= now
        ]
        line = [self._schedules[name] for _, name in sorted(due)]
        before = accumulate((one.definition.octets for one in line), initial=0)
        room = takewhile(lambda octets: octets < self._octets_at_a_time, before)
        schedules = [one for one, _ in zip(line[:most], room, strict=False)]
        return DueSchedules(
            now, schedules, has_more=len(schedules) == most or len(schedules) < len(line)
        )

    def whereabouts(self, tasks: Sequence[TaskId]) -> Mapping[TaskId, Whereabouts]:
        self._ledger().ask()
        return {task_id: self._where(task_id) for task_id in tasks}

    def advance(self, steps: Sequence[ScheduleStep]) -> Sequence[ScheduleStep]:
        now = self.now()
        return [step for step in steps if self._advance(step, now)]

    def _advance(self, step: ScheduleStep, now: Millis) -> bool:
        schedule = step.seen
        current = self._if_unchanged(schedule)
        if current is None or (current.next_at_ms, current.last) != (
            schedule.next_at_ms,
            schedule.last,
        ):
            return False
        last = step.fires[-1] if step.fires else None
        tally = _more(current.tally, step)
        following = replace(
            current,
            next_at_ms=step.next_at_ms,
            decided_at_ms=step.decided_at_ms,
            held=step.held,
            last=LastFire(last.nominal_ms, now, last.request.task_id) if last else current.last,
            open_tasks=list(step.open_tasks),
            tally=replace(tally, fired=tally.fired + len(step.fires)),
        )
        self._keep(following, look_at=step.look_at_ms)
        self._requests.add([fire.request for fire in step.fires])
        return True

    def _if_unchanged(self, schedule: Schedule) -> Schedule | None:
        current = self._schedules.get((schedule.tenant, schedule.name))
        return current if current is not None and current.revision == schedule.revision else None

    def _keep(self, schedule: Schedule, *, look_at: Millis | None = None) -> None:
        name = (schedule.tenant, schedule.name)
        self._schedules[name] = schedule
        self._look_at[name] = schedule.next_at_ms if look_at is None else look_at

    def _shown(self, schedule: Schedule) -> Schedule:
        request = self._requests.find(schedule.last.task_id) if schedule.last else None
        parked = request.parked if request else None
        return replace(
            schedule, refused=FireRefused(parked.reason, parked.detail) if parked else None
        )

    def _where(self, task_id: TaskId) -> Whereabouts:
        request, row = self._requests.find(task_id), self._ledger().rows.get(task_id)
        if request is not None and request.parked is None:
            return Whereabouts.ENQUEUED
        if row is not None:
            return Whereabouts.OVER if row.status.is_final else Whereabouts.LIVING
        return Whereabouts.UNKNOWN if request is None else Whereabouts.OVER


def _name(schedule: Schedule) -> str:
    return schedule.name


def _more(tally: FireTally, source: ScheduleStep | Draft) -> FireTally:
    return replace(
        tally, skipped=tally.skipped + source.skipped, missed=tally.missed + source.missed
    )
