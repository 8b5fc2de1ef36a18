"""Reads the ledger with read-your-writes consistency."""

from collections.abc import Callable
from datetime import timedelta
from operator import not_
from typing import Final, TypeVar

from functions.gateway.presenter import moment
from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import Millis
from taskmill.core.time import in_ms
from taskmill.ledger.await_ledger import LONGEST_CATCH_UP, await_ledger, has_reached
from taskmill.stores.stores import Stores

F = TypeVar("F")
NO_TIME: Final = timedelta()


def caught_up(
    stores: Stores,
    look: Callable[[], F],
    is_behind: Callable[[F], bool],
    *,
    within: timedelta = LONGEST_CATCH_UP,
) -> F:
    """Return the result of *look* once the ledger has caught up, or when the time is over.

    Only a limited number of requests may wait longer than `LONGEST_CATCH_UP`.
    """
    state = _look_for(stores, min(within, LONGEST_CATCH_UP), look, is_behind)
    rest = within - LONGEST_CATCH_UP
    if rest <= NO_TIME or not is_behind(state):
        return state
    with stores.waiters.place() as has_place:
        return _look_for(stores, rest, look, is_behind) if has_place else state


def _look_for(
    stores: Stores, span: timedelta, look: Callable[[], F], is_behind: Callable[[F], bool]
) -> F:
    end_ms = stores.clock() + in_ms(span)
    return await_ledger(
        look,
        is_behind=lambda state: is_behind(state) and stores.clock() < end_ms,
        pause=stores.pause,
        within=span,
    )


def hear_the_log(stores: Stores, within: timedelta) -> Millis | None:
    """Wait until the ledger reaches the current end of the log; return that moment, if in time.

    Everything that happened before that moment is then in the ledger, including idle partitions;
    the moment is never later than the oldest row in the outbox. When the log is unavailable, the
    ledger answers alone.
    """
    now = stores.clock()
    try:
        waits_since = (
            stores.outbox.waits_since()
        )  # read first: its rows move into the log meanwhile
        ends = stores.log_ends.ends()
    except StoreUnavailable:
        return None
    is_there = caught_up(stores, lambda: has_reached(stores.ledger_rows, ends), not_, within=within)
    horizon = now if waits_since is None else min(now, waits_since)
    return horizon if is_there else None


def since_heard(heard_ms: Millis | None) -> dict[str, str]:
    """Return `as_of` for a response: when the ledger had reached the end of the log."""
    return {} if heard_ms is None else {"as_of": moment(heard_ms)}
