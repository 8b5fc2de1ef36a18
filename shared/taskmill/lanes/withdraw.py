"""Withdraws tasks from their lines after an order ended or replaced their turn."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import TaskType
from taskmill.lanes.lane import Member
from taskmill.lanes.ports import Lanes


def epochs_before(types: Collection[TaskType], lanes: Lanes) -> Mapping[TaskType, str]:
    """Return the epochs of live lanes; read them before the records are changed."""
    if not types:
        return {}
    with suppress(StoreUnavailable):
        pairs = zip(types, lanes.epochs(types), strict=True)
        return {name: epoch for name, epoch in pairs if epoch is not None}
    return {}


def withdraw(
    waiting: Iterable[tuple[TaskType, Member]], epochs: Mapping[TaskType, str], lanes: Lanes
) -> None:
    """Take members out of their lines, once the facts about them are in the log.

    Whatever stays behind, or was taken meanwhile, is refused when it is claimed.
    """
    by_type: defaultdict[TaskType, list[Member]] = defaultdict(list)
    for name, member in waiting:
        by_type[name].append(member)
    with suppress(StoreUnavailable):
        for name in by_type.keys() & epochs.keys():
            lanes.withdraw(name, by_type[name], epoch=epochs[name])
