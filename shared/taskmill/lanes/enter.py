"""Lets tasks enter their lanes, and wakes processes for them."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from taskmill.core.codec import RawEnvelope
from taskmill.core.errors import StoreFull, StoreUnavailable
from taskmill.core.ports import Bus
from taskmill.core.wake_up import WakeUp
from taskmill.lanes.lane import Entered
from taskmill.lanes.ports import Lanes


class EnterStores(Protocol):
    """Ports for entering."""

    @property
    def bus(self) -> Bus: ...

    @property
    def lanes(self) -> Lanes: ...


def enter(
    tasks: Sequence[RawEnvelope], stores: EnterStores, *, past: bool = False
) -> Sequence[Entered]:
    """Put each task into its lane; one whose lane cannot take it is tried again by the caller.

    What goes *past* the shelf is never shelved, nor is a later turn. A full Redis shelves all other
    tasks.
    """
    if not tasks:
        return []
    try:
        answer = stores.lanes.enter(tasks, past=past)
    except StoreFull:
        return [Entered.COLD if past or one.envelope.turn > 1 else Entered.SHELVED for one in tasks]
    except StoreUnavailable:
        return [Entered.COLD] * len(tasks)
    wake(answer.wake, stores.bus)
    return answer.answers


def wake(wake_ups: Sequence[WakeUp], bus: Bus) -> None:
    """Start processes; a wake-up that is lost is repeated by the next tick."""
    if wake_ups:
        with suppress(StoreUnavailable):
            bus.send_wake_ups(wake_ups)
