"""What becomes of the instants of schedules, counted."""

from collections.abc import Mapping, Sequence

from taskmill.domain.counting import Count, Span
from taskmill.domain.schedule import DueSchedules, Step, Whereabouts
from taskmill.domain.task import TaskId
from taskmill.ports.counters import Counters
from taskmill.ports.schedules import Firing


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
        for outcome, count in (
            ("fired", len(late)),
            ("skipped", sum(one.skipped for one in done)),
            ("missed", sum(one.missed for one in done)),
        ):
            self._counters.count(Count.INSTANTS, count, outcome=outcome)
        return done
