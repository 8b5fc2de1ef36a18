"""Sets the pauses that lanes lack because they were lost, or Redis was unavailable."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from taskmill.core.errors import StoreUnavailable
from taskmill.core.ports import Bus
from taskmill.core.wake_up import WakeUp
from taskmill.lanes.enter import wake
from taskmill.lanes.ports import Lanes, Rules
from taskmill.submission.ports import Catalogue

_log = logging.getLogger("taskmill.lanes")


class RepeatStores(Protocol):
    """Ports for repeating."""

    @property
    def bus(self) -> Bus: ...

    @property
    def catalogue(self) -> Catalogue: ...

    @property
    def lanes(self) -> Lanes: ...

    @property
    def rules(self) -> Rules: ...


def repeat_pauses(stores: RepeatStores) -> int:
    """Set the pauses of lanes that lack them; return how many lanes did.

    A cold lane takes them while it is rebuilt, so that it is never open without them for long.
    """
    types = [entry.name for entry in stores.catalogue.entries()]
    known = stores.lanes.revisions(types)
    revision = _revision(stores, max((one for one in known if one is not None), default=0))
    lacking = sum(one is None or one < revision for one in known)
    if revision == 0 or not lacking:  # at 0 nothing was ever paused
        return 0
    book = stores.rules.book()
    _wake(stores.lanes.set_pauses(book.for_lanes(), revision=book.revision), stores.bus)
    return lacking


def _revision(stores: RepeatStores, latest: int) -> int:
    """Return the revision of the rule book.

    It is read after those of the lanes. If one of them is ahead, the ledger was restored to an
    earlier time; the book takes a later revision then, lest the lane keep what is no longer there.
    """
    revision = stores.rules.revision()
    if latest <= revision:
        return revision
    _log.warning("a lane has newer rules than the ledger", extra={"newer": latest})
    return stores.rules.pass_by(latest)


def _wake(wake_ups: Sequence[WakeUp], bus: Bus) -> None:
    wake(wake_ups, bus)
    with suppress(StoreUnavailable):  # lost wake-ups are repeated by the next tick
        bus.flush()
