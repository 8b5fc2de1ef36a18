"""Combines the parts of lanes, and states what must never happen."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.checker import Step
from tests.models.lanes.forgetting import forgetting_steps, overwriting_steps, rebuild_steps
from tests.models.lanes.gateways import client_steps, gateway_steps, reader_steps, repeat_steps
from tests.models.lanes.lane import Flight, Lane, Member
from tests.models.lanes.recorder import reconciler_steps, recorder_steps
from tests.models.lanes.state import Budget, State, Worker, World
from tests.models.lanes.surroundings import (
    dispatcher_steps,
    due_steps,
    operator_steps,
    time_steps,
)
from tests.models.lanes.tick import going_on, is_void, tick_steps
from tests.models.lanes.worker import is_inert, worker_steps
from tests.models.ledger import Row, fold
from tests.models.rules import Rules
from tests.models.shard import Fact, Record, Shard

TWO_ENDS = "a record and the log name two ends of a task"


class Lanes(NamedTuple):
    """A few tasks of one type; the log holds their submissions."""

    rules: Rules
    world: World = World()
    left: Budget = Budget()

    def first(self) -> State:
        tasks = range(self.world.tasks)
        row = fold(Row(), Fact(1, 1, "submitted", 0, 0, "X"), self.rules)
        state = State(
            shards=tuple(Shard(record=Record(1)) for _ in tasks),
            rows=tuple(row for _ in tasks),
            left=self.left,
        )
        if self.world.lags:
            state = state._replace(ledger=state.rows)
        if not self.world.is_begun:
            return state._replace(pending=tuple(Member(task, 1) for task in tasks))
        taken = Member(0, 1)
        lane = Lane(
            line=frozenset(Member(task, 1) for task in tasks if task),
            flight=frozenset({Flight(taken)}),
            places=frozenset({taken}),
        )
        return state._replace(lane=lane, workers=(Worker("claim", taken), None))

    def steps(self, state: State) -> Iterator[Step[State]]:
        """Return what may happen next, and what it breaks."""
        for step in self._all(state):
            wrong = None if step.broken or step.is_fault else _went_back(state, step.state)
            yield step if wrong is None else step._replace(broken=wrong)

    def _all(self, state: State) -> Iterator[Step[State]]:
        """Let what changes nothing any more happen at once."""
        rules, world = self.rules, self.world
        for index, worker in enumerate(state.workers):
            if is_inert(worker, state, rules):
                yield from worker_steps(state, index, rules, world)
                return
        for place, tick in enumerate(state.ticks):
            if is_void(tick, state, rules):
                yield from going_on(state, place, rules, world)
                return
        yield from dispatcher_steps(state, rules, world)
        for index in (0, 1):
            yield from worker_steps(state, index, rules, world)
        yield from tick_steps(state, rules, world)
        yield from due_steps(state, rules, world)
        yield from gateway_steps(state, rules, world)
        yield from reader_steps(state, rules)
        yield from repeat_steps(state, rules)
        yield from client_steps(state, rules, world)
        yield from operator_steps(state, rules)
        yield from time_steps(state, rules)
        yield from rebuild_steps(state, rules, world)
        yield from recorder_steps(state, rules)
        yield from reconciler_steps(state, rules, world)
        yield from forgetting_steps(state, rules, world)
        yield from overwriting_steps(state, rules)

    def broken(self, state: State) -> str | None:
        if not self.world.second_run_is_wrong:
            return None
        ends = zip((shard.record for shard in state.shards), state.rows, strict=True)
        differs = any(
            record is not None
            and record.is_final
            and row.is_closed
            and record.generation == row.generation
            and record.status != row.status
            for record, row in ends
        )
        return TWO_ENDS if differs else None

    def is_good(self, state: State) -> bool:
        lane = state.lane
        if lane.is_cold or lane.is_paused or lane.line or lane.flight or lane.used:
            return False
        busy = state.ticks or state.mover or state.gateways or any(state.workers) or state.reader
        if state.unread or state.restoring or state.slow or state.mending is not None:
            return False
        owing = state.pending or state.unpublished or any(shard.due for shard in state.shards)
        if state.is_cold or busy or owing or state.entering is not None or state.rebuild:
            return False
        is_sound = not any(shard.is_overwritten for shard in state.shards)
        return is_sound and all(row.is_closed for row in state.rows) and self._agree(state)

    def _agree(self, state: State) -> bool:
        """Return whether records and log name the same ends.

        After a second run they need not, unless there is a reconciler.
        """
        if not (self.world.second_run_is_wrong or self.world.reconciles):
            return True
        pairs = zip((shard.record for shard in state.shards), state.rows, strict=True)
        return all(record is None or record.status == row.status for record, row in pairs)


def _went_back(before: State, after: State) -> str | None:
    pairs = zip(before.shards, after.shards, strict=True)
    return next((wrong for one, other in pairs if (wrong := _fell(one.record, other.record))), None)


def _fell(before: Record | None, after: Record | None) -> str | None:
    """As long as Redis keeps its data, a record only moves forward."""
    if before is None or after is None or before is after:
        return None
    if before.generation != after.generation:
        went_back = before.generation > after.generation
        return "the record went back to an older generation" if went_back else None
    if before.is_final and after.status != before.status:
        return f"the record left its end: {before.status}, then {after.status}"
    if after.turn < before.turn and not after.is_final:
        return "the record went back to an older turn"
    return None
