"""Moves what waits in lanes to the topics of workers, where the version before looks for it."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Final, Protocol

from msgspec import Struct

from taskmill.core import codec, topics
from taskmill.core.codec import RawEnvelope
from taskmill.core.errors import TaskmillError
from taskmill.core.facts import Fact
from taskmill.core.ports import Bus, Clock, LogEnds, Pause
from taskmill.core.task import TaskType
from taskmill.core.time import in_ms
from taskmill.dispatch.ports import ShelvedRecords
from taskmill.dispatch.waiting import Unshelved
from taskmill.lanes.lane import HeldEnvelope, TurnIsOver
from taskmill.lanes.ports import ColdLanes, Turns
from taskmill.ledger.far import unshelve_order
from taskmill.ledger.ports import Shelf, ShelvedTask, WholeRows
from taskmill.recovery.waits import wait_for_ledger, wait_until
from taskmill.submission.ports import Catalogue

_AT_A_TIME: Final = 100
_LINES_AT_A_TIME: Final = 500
_SCHEDULERS_SHOW: Final = timedelta(seconds=2)
"""Within this span a scheduler that runs has begun to open the lanes again."""

_LEDGER_TAKES: Final = timedelta(minutes=1)


class LanesNotLeft(TaskmillError):
    """Something keeps tasks in lanes or on shelves; whatever was published stays published."""


class LeaveStores(Protocol):
    """Ports for leaving lanes."""

    @property
    def bus(self) -> Bus: ...

    @property
    def catalogue(self) -> Catalogue: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def cold_lanes(self) -> ColdLanes: ...

    @property
    def log_ends(self) -> LogEnds: ...

    @property
    def shelf(self) -> Shelf: ...

    @property
    def shelved_records(self) -> ShelvedRecords: ...

    @property
    def turns(self) -> Turns: ...

    @property
    def whole_rows(self) -> WholeRows: ...


class Left(Struct, frozen=True, kw_only=True):
    """How many tasks were published."""

    from_lanes: int
    from_shelves: int


class LaneLeave:
    """May die on any line, and be repeated: a task that is published twice is claimed once.

    The lanes are closed first, so nothing enters and nothing is taken meanwhile. They are emptied
    last. A scheduler that runs would open them again: then nothing was emptied, and it says so.
    """

    def __init__(self, stores: LeaveStores, *, pause: Pause) -> None:
        self._stores = stores
        self._pause = pause

    def run(self) -> Left:
        """Publish all that waits or is in flight, empty the lanes, and leave them closed."""
        stores = self._stores
        types = [entry.name for entry in stores.catalogue.entries()]
        began = stores.clock()
        _refuse_cold(set(types) - set(stores.cold_lanes.close(types)))
        self._wait_for_ledger()
        shows_at = began + in_ms(_SCHEDULERS_SHOW)
        wait_until(shows_at, clock=stores.clock, pause=self._pause, goes_on=lambda: True)
        from_lanes = sum(map(self._leave_lane, types))
        from_shelves = self._leave_shelves()
        self._empty(types)
        return Left(from_lanes=from_lanes, from_shelves=from_shelves)

    def _wait_for_ledger(self) -> None:
        """Wait until tasks that were shelved last have their rows."""
        stores = self._stores
        deadline = stores.clock() + in_ms(_LEDGER_TAKES)
        ends = stores.log_ends.ends()
        wait_for_ledger(
            stores.whole_rows, ends, pause=self._pause, goes_on=lambda: stores.clock() < deadline
        )
        if stores.clock() >= deadline:
            raise LanesNotLeft(
                "the ledger has not caught up with the log within a minute: check that the recorder"
                " of this version runs, then run this again"
            )

    def _leave_lane(self, task_type: TaskType) -> int:
        count, place = 0, "0"
        while True:
            place, tasks = self._stores.cold_lanes.held(task_type, after=place, most=_AT_A_TIME)
            count += self._publish_lane(tasks)
            if place == "0":
                return count

    def _publish_lane(self, tasks: Sequence[HeldEnvelope]) -> int:
        """Publish a turn that is over as its facts, every other one as a task."""
        states = self._stores.turns.look([one.member for one in tasks]) if tasks else []
        facts: list[Fact] = []
        open_turns: list[RawEnvelope] = []
        for task, state in zip(tasks, states, strict=True):
            if isinstance(state, TurnIsOver):
                facts += state.facts
            else:
                open_turns.append(codec.as_raw(task.raw))
        self._publish(open_turns, facts)
        return len(open_turns)

    def _publish(self, tasks: Sequence[RawEnvelope], facts: Sequence[Fact] = ()) -> None:
        bus = self._stores.bus
        if facts:
            bus.send_facts(facts)
        for name in dict.fromkeys(one.type for one in tasks):
            same = [one for one in tasks if one.type == name]
            for batch in codec.batches_of_tasks(same):
                bus.send_batch(topics.worker(name), batch)
        bus.flush()

    def _leave_shelves(self) -> int:
        count, last, shelf = 0, "", self._stores.shelf
        while places := shelf.last(after=last, most=_LINES_AT_A_TIME):
            last = places[-1].line
            count += sum(self._leave_shelf(one.line) for one in places)
        if shelf.last(after="", most=1):
            raise LanesNotLeft(
                "tasks are left on shelves whose submissions the ledger does not have yet: search"
                " the quarantine for them, then run this again"
            )
        return count

    def _leave_shelf(self, line: str) -> int:
        """Publish page after page; a row is deleted once its task is in the log."""
        count, shelf = 0, self._stores.shelf
        while tasks := shelf.first(line, most=_AT_A_TIME):
            count += self._publish_shelf(tasks)
            shelf.leave([task.place for task in tasks])
        return count

    def _publish_shelf(self, tasks: Sequence[ShelvedTask]) -> int:
        """Make the records first: without one, a worker does not run an old task."""
        orders = [unshelve_order(task.row) for task in tasks if task.row is not None]
        known = [one for one in orders if one is not None]
        answers = self._stores.shelved_records.unshelve(known)
        if Unshelved.COLD in answers:
            raise LanesNotLeft(
                "a shard of Redis is cold: start the scheduler, wait until `taskmill doctor` lists"
                " no cold shard, stop it, then run this again"
            )
        pairs = zip(known, answers, strict=True)
        queued = [one.envelope for one, answer in pairs if answer is Unshelved.QUEUED]
        self._publish([RawEnvelope(one, codec.encode(one)) for one in queued])
        return len(queued)

    def _empty(self, types: Sequence[TaskType]) -> None:
        emptied = self._stores.cold_lanes.empty(types)
        if reopened := sorted(set(types) - set(emptied)):
            raise LanesNotLeft(
                f"the lanes of {', '.join(reopened)} are open or rebuilt again: stop the"
                " schedulers, wait until they have ended, then run this again"
            )


def _refuse_cold(types: Collection[TaskType]) -> None:
    """Refuse to leave lanes that a scheduler has not filled yet: their tasks are not in them."""
    if types:
        raise LanesNotLeft(
            f"the lanes of {', '.join(sorted(types))} are cold: let a scheduler of this version run"
            " until `taskmill doctor` lists no cold lane, stop it, then run this again"
        )
