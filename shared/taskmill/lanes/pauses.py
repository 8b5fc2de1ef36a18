"""Pauses and resumes a type or everything: in the rule book first, then in the lanes."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from taskmill.core.errors import StoreUnavailable
from taskmill.core.ports import Clock
from taskmill.lanes.ports import Lanes, Rules
from taskmill.lanes.rules import PausedRule, PauseOrder, RuleBook, RuleKey


class PauseStores(Protocol):
    """Ports for pausing."""

    @property
    def clock(self) -> Clock: ...

    @property
    def lanes(self) -> Lanes: ...

    @property
    def rules(self) -> Rules: ...


class Paused(Struct, frozen=True, kw_only=True):
    pause: PausedRule
    is_new: bool
    """False when it replaced another one."""

    is_deferred: bool
    """True when Redis was unavailable: the scheduler sets it once Redis is back."""


class Resumed(Struct, frozen=True, kw_only=True):
    pause: PausedRule
    is_deferred: bool


class NotPaused(Struct, frozen=True):
    """There is no pause, or its end has come."""


def pause(order: PauseOrder, stores: PauseStores) -> Paused:
    """Pause at once and until further notice; what runs goes on to its end."""
    change = stores.rules.pause(order)
    before = change.before.pause_of(order.key)
    return Paused(
        pause=_kept(change.after, order.key),
        is_new=before is None or before.is_over(stores.clock()),
        is_deferred=not _set(change.after, stores),
    )


def resume(key: RuleKey, stores: PauseStores) -> Resumed | NotPaused:
    change = stores.rules.resume(key)
    before = change.before.pause_of(key)
    if before is None:
        return NotPaused()
    is_deferred = not _set(change.after, stores)
    if before.is_over(stores.clock()):
        return NotPaused()
    return Resumed(pause=before, is_deferred=is_deferred)


def pauses(stores: PauseStores) -> Sequence[PausedRule]:
    """Return the pauses whose end has not come."""
    now = stores.clock()
    return [one for one in stores.rules.book().pauses if not one.is_over(now)]


def _kept(book: RuleBook, key: RuleKey) -> PausedRule:
    return next(one for one in book.pauses if one.key == key)


def _set(book: RuleBook, stores: PauseStores) -> bool:
    """Set the pauses of every lane; false if Redis is unavailable.

    The scheduler's next tick wakes workers: only it and the dispatcher may write to their topics.
    """
    try:
        stores.lanes.set_pauses(book.for_lanes(), revision=book.revision, wakes=False)
    except StoreUnavailable:
        return False
    return True
