"""Combines the parts of execution, and states what must never happen."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.checker import Step
from tests.models.execution.forgetting import forgetting_steps, rebuild_steps
from tests.models.execution.overwriting import overwriting_steps
from tests.models.execution.state import Budget, State, World
from tests.models.execution.surroundings import (
    client_steps,
    due_steps,
    reconciler_steps,
    recorder_steps,
    repeat_steps,
    reuse_steps,
    time_steps,
)
from tests.models.execution.worker import SECOND_RUN, worker_steps
from tests.models.rules import Rules
from tests.models.shard import FINAL, Fact, Record, Shard

TWO_ENDS = "two ends of one generation stand in the log"
UNHEARD = "a task was retried or died although its cancellation was requested"


class Execution(NamedTuple):
    """One task; the log initially holds its submission, already dispatched."""

    rules: Rules
    world: World = World()
    left: Budget = Budget()

    def first(self) -> State:
        return State(
            Shard(record=Record(1)),
            log=frozenset({Fact(1, 1, "submitted", 0, 0, "X")}),
            left=self.left,
        )

    def steps(self, state: State) -> Iterator[Step[State]]:
        for step in self._all(state):
            wrong = _went_back(state.shard.record, step.state.shard.record)
            if step.broken == SECOND_RUN and not self.world.second_run_is_wrong:
                yield step._replace(broken=None)
            elif wrong is not None and step.broken is None and not step.is_fault:
                yield step._replace(broken=wrong)
            else:
                yield step

    def _all(self, state: State) -> Iterator[Step[State]]:
        rules, world = self.rules, self.world
        for index in (0, 1):
            yield from worker_steps(state, index, rules, world)
        yield from time_steps(state)
        yield from due_steps(state, rules)
        yield from client_steps(state, rules)
        yield from repeat_steps(state, rules)
        yield from reuse_steps(state, rules)
        yield from recorder_steps(state, rules)
        yield from reconciler_steps(state, rules, world)
        yield from rebuild_steps(state, rules, world)
        yield from forgetting_steps(state, rules, world)
        yield from overwriting_steps(state, rules)

    def broken(self, state: State) -> str | None:
        record = state.shard.record
        if record and record.cancel_requested and record.status in ("dead", "retrying"):
            return UNHEARD
        if not self.world.second_run_is_wrong:
            return None
        ends = [(fact.generation, fact.kind) for fact in state.log if fact.kind in FINAL]
        generations = {generation for generation, _ in ends}
        return TWO_ENDS if len(set(ends)) > len(generations) else None

    def is_good(self, state: State) -> bool:
        record, row = state.shard.record, state.row
        if not row.is_closed or state.shard.is_cold:
            return False
        agree = record is None or (record.generation, record.status) == (row.generation, row.status)
        at_rest = not any(state.workers) and len(state.committed) == len(state.line)
        answer = state.log == state.applied and state.decided <= state.log
        idle = state.client is None and not state.shard.due and not (state.rebuild or state.slow)
        is_sound = not state.shard.is_overwritten and state.mending is None
        return agree and at_rest and answer and idle and is_sound


def _went_back(before: Record | None, after: Record | None) -> str | None:
    """As long as Redis keeps its data, a record only moves forward."""
    if before is None or after is None or before.generation < after.generation:
        return None
    if before.generation > after.generation:
        return "the record went back to an older generation"
    if before.is_final and after.status != before.status:
        return f"the record left its end: {before.status}, then {after.status}"
    if after.turn < before.turn and not after.is_final:
        return "the record went back to an older turn"
    return None
