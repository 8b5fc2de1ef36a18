"""Counts what is due, delayed and parked."""

from collections.abc import Sequence
from typing import Final

from taskmill.core.counting import Count
from taskmill.core.owed import Owed, OwedKey
from taskmill.core.ports import Counters
from taskmill.dispatch.waiting import Delayed, Parked
from taskmill.stores.counted.watchers import Watchers, by_answer


def _taken(counters: Counters, _asked: object, taken: Sequence[tuple[OwedKey, Owed]]) -> None:
    for name, _ in taken:
        counters.count(Count.DUE, kind=name.kind)


def _forgotten(counters: Counters, _asked: object, records: int) -> None:
    counters.count(Count.FORGOTTEN, records)


def _delayed(counters: Counters, _orders: object, answers: Sequence[Delayed]) -> None:
    for answer in answers:
        counters.count(Count.DELAYED, answer=answer)


def _parked(counters: Counters, _waiting: object, answers: Sequence[Parked]) -> None:
    for answer in answers:
        counters.count(Count.PARKED, answer=answer)


DUE: Final[Watchers] = {"take": by_answer(_taken), "forget_expired": by_answer(_forgotten)}
DELAYS: Final[Watchers] = {"delay": by_answer(_delayed)}
PARKING: Final[Watchers] = {"park": by_answer(_parked)}
