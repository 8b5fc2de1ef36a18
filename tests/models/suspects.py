"""Losses and suspects: a task that kills its process takes no others with it.

One batch of a poison task and innocent ones, in one process: `claim` and `execute` as they claim
what can start, keep suspects waiting until nothing else runs, and settle. The platform kills
processes, too.
"""

from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from tests.models.checker import Step
from tests.models.execution.worker import LOSSES_BEFORE_POISON
from tests.models.rules import Rules
from tests.models.scripts.claim_turn import claim_turn
from tests.models.scripts.settle_turn import settle_turn
from tests.models.shard import Envelope, Fact, Record, Reply, Shard

BLAMED = "an innocent task is dead as poison"
POISON = 0
_TASK = Envelope(1)


class State(NamedTuple):
    shards: tuple[Shard, ...]
    waiting: tuple[int, ...] = ()
    suspects: tuple[tuple[int, int], ...] = ()
    """Losses and task: those with the fewest go first."""
    running: frozenset[int] = frozenset()
    is_alive: bool = False
    is_committed: bool = False
    kills: int = 0

    def with_shard(self, task: int, shard: Shard) -> "State":
        shards = (*self.shards[:task], shard, *self.shards[task + 1 :])
        return self._replace(shards=shards)


class Suspects(NamedTuple):
    """A batch: task 0 kills its process whenever it runs."""

    rules: Rules
    innocents: int = 2
    kills: int = 0

    def first(self) -> State:
        return State((Shard(record=Record(1)),) * (self.innocents + 1), kills=self.kills)

    def steps(self, state: State) -> Iterator[Step[State]]:
        if state.is_committed:
            return
        if not state.is_alive:
            yield Step("the leases lapse, and the batch comes", self._come(state))
            return
        if state.kills:
            killed = _dead(state)._replace(kills=state.kills - 1)
            yield Step("the platform kills the process", killed, is_fault=True)
        if state.waiting:
            yield self._claim(state._replace(waiting=()), state.waiting, alone=False)
        for task in sorted(state.running):
            yield self._run(state, task)
        if not state.waiting and not state.running and state.suspects:
            rest = state._replace(suspects=state.suspects[1:])
            yield self._claim(rest, (state.suspects[0][1],), alone=True)
        elif not (state.waiting or state.running):
            yield Step("the batch is committed", state._replace(is_committed=True))

    def _come(self, state: State) -> State:
        come = state._replace(is_alive=True, waiting=tuple(range(len(state.shards))))
        for task, shard in enumerate(state.shards):
            record = shard.record
            if record is not None and record.lease:
                lapsed = record._replace(lease="lapsed", process=-2)
                come = come.with_shard(task, shard._replace(record=lapsed))
        return come

    def _claim(self, state: State, tasks: tuple[int, ...], *, alone: bool) -> Step[State]:
        result = []
        for task in tasks:
            reply = claim_turn(
                state.shards[task],
                self.rules,
                envelope=_TASK,
                source=task,
                process=0,
                alone=alone,
            )
            result.append(f"{_named(task)} {reply.answer}, {reply.losses} losses")
            state = self._begun(state.with_shard(task, reply.shard), task, reply)
        return Step(f"claim{' alone' if alone else ''}: " + "; ".join(result), state)

    def _begun(self, state: State, task: int, reply: Reply) -> State:
        if reply.answer == "SUSPECT":
            suspects = sorted((*state.suspects, (reply.losses, task)), key=itemgetter(0))
            return state._replace(suspects=tuple(suspects))
        if reply.answer != "CLAIMED":
            return state
        if reply.losses >= LOSSES_BEFORE_POISON:
            return self._ended(state, task, "dead")
        return state._replace(running=state.running | {task})

    def _run(self, state: State, task: int) -> Step[State]:
        if task == POISON:
            return Step("poison kills the process", _dead(state))
        done = self._ended(state, task, "succeeded")
        return Step(f"{_named(task)} succeeds", done._replace(running=state.running - {task}))

    def _ended(self, state: State, task: int, status: str) -> State:
        record = state.shards[task].record
        token = record.token if record else 0
        settled = settle_turn(
            state.shards[task],
            self.rules,
            envelope=_TASK,
            token=token,
            status=status,
            facts=(Fact(1, 1, status, token),),
        )
        return state.with_shard(task, settled.shard)

    def broken(self, state: State) -> str | None:
        innocents = [shard.record for shard in state.shards[1:]]
        return BLAMED if any(one and one.status == "dead" for one in innocents) else None

    def is_good(self, state: State) -> bool:
        records = [shard.record for shard in state.shards]
        return state.is_committed and all(one and one.is_final for one in records)


def _dead(state: State) -> State:
    return state._replace(is_alive=False, waiting=(), suspects=(), running=frozenset())


def _named(task: int) -> str:
    return f"innocent {task}" if task else "poison"
