"""What becomes of the instants of schedules, counted."""

from collections.abc import Mapping, Sequence

from taskmill.core.counting import Count, Span
from taskmill.core.ports import Counters
from taskmill.core.task import Millis, TaskId
from taskmill.schedules.ports import Firing, Schedules
from taskmill.schedules.schedule import Draft, DueSchedules, Fire, Schedule, Step, Whereabouts


class CountedFiring:
    def __init__(self, schedules: Firing, counters: Counters) -> None:
        self._schedules = schedules
        self._counters = counters

    def due(self, *, most: int) -> DueSchedules:
        return self._schedules.due(most=most)

    def whereabouts(self, tasks: Sequence[TaskId]) -> Mapping[TaskId, Whereabouts]:
        return self._schedules.whereabouts(tasks)

    def advance(self, steps: Sequence[Step]) -> Sequence[Step]:
        done = self._schedules.advance(steps)
        late = [(one.now_ms - fire.nominal_ms) / 1000 for one in done for fire in one.fires]
        if late:
            self._counters.time(Span.FIRE_LATENESS, *late)
        _count(
            self._counters,
            fired=len(late),
            skipped=sum(one.skipped for one in done),
            missed=sum(one.missed for one in done),
        )
        return done


class CountedSchedules:
    def __init__(self, schedules: Schedules, counters: Counters) -> None:
        self._schedules = schedules
        self._counters = counters

    def now(self) -> Millis:
        return self._schedules.now()

    def find(self, tenant: str, name: str) -> Schedule | None:
        return self._schedules.find(tenant, name)

    def page(self, tenant: str, *, after: str, limit: int) -> Sequence[Schedule]:
        return self._schedules.page(tenant, after=after, limit=limit)

    def make(self, draft: Draft) -> bool:
        return self._schedules.make(draft)

    def change(self, seen: Schedule, draft: Draft) -> bool:
        is_done = self._schedules.change(seen, draft)
        if is_done:
            _count(self._counters, skipped=draft.skipped, missed=draft.missed)
        return is_done

    def delete(self, seen: Schedule) -> bool:
        return self._schedules.delete(seen)

    def trigger(self, seen: Schedule, fire: Fire) -> bool:
        is_done = self._schedules.trigger(seen, fire)
        if is_done:
            _count(self._counters, triggered=1)
        return is_done

    def backfill(self, seen: Schedule, fires: Sequence[Fire]) -> bool:
        is_done = self._schedules.backfill(seen, fires)
        if is_done:
            _count(self._counters, backfilled=len(fires))
        return is_done


def _count(counters: Counters, **by_outcome: int) -> None:
    for outcome, count in by_outcome.items():
        counters.count(Count.INSTANTS, count, outcome=outcome)
