"""Counts what becomes of the instants of schedules."""

from collections.abc import Sequence
from typing import Any, Final

from taskmill.core.counting import Count, Span
from taskmill.core.ports import Counters
from taskmill.schedules.schedule import Draft, Fire, Schedule, Step
from taskmill.stores.counted.watchers import Call, Watchers, by_answer


def _advanced(counters: Counters, _steps: Sequence[Step], done: Sequence[Step]) -> None:
    late = [(one.now_ms - fire.nominal_ms) / 1000 for one in done for fire in one.fires]
    if late:
        counters.time(Span.FIRE_LATENESS, *late)
    _count(
        counters,
        fired=len(late),
        skipped=sum(one.skipped for one in done),
        missed=sum(one.missed for one in done),
    )


def _changing(call: Call, counters: Counters) -> Call:
    def watched(seen: Schedule, draft: Draft) -> bool:
        is_done: bool = call(seen, draft)
        if is_done:
            _count(counters, skipped=draft.skipped, missed=draft.missed)
        return is_done

    return watched


def _triggering(call: Call, counters: Counters) -> Call:
    def watched(seen: Schedule, fire: Fire) -> bool:
        is_done: bool = call(seen, fire)
        _count(counters, triggered=int(is_done))
        return is_done

    return watched


def _backfilling(call: Call, counters: Counters) -> Call:
    def watched(seen: Schedule, fires: Sequence[Fire]) -> bool:
        is_done: bool = call(seen, fires)
        if is_done:
            _count(counters, backfilled=len(fires))
        return is_done

    return watched


def _count(counters: Counters, **by_outcome: Any) -> None:
    for outcome, count in by_outcome.items():
        counters.count(Count.INSTANTS, count, outcome=outcome)


FIRING: Final[Watchers] = {"advance": by_answer(_advanced)}
SCHEDULES: Final[Watchers] = {
    "change": _changing,
    "trigger": _triggering,
    "backfill": _backfilling,
}
