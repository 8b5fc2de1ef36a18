"""Losses in lanes: a task that kills its process takes no others with it.

Processes take what waits, a few side by side; poison kills the process that runs it, and so does
the platform. A first loss is taken over in company, so that a kill of many is not worked off one by
one; from the second on a task runs alone. What a process does at once is one step here.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.checker import Step
from tests.models.lanes.lane import FRESH, Lane, Member
from tests.models.lanes.worker import LOSSES_BEFORE_POISON
from tests.models.rules import Rules
from tests.models.scripts.claim_turn import LOSSES_IN_COMPANY, claim_turn
from tests.models.scripts.look_at_turn import look_at_turn
from tests.models.scripts.put_back import put_back
from tests.models.scripts.settle_turn import settle_turn
from tests.models.scripts.take_tasks import take_tasks
from tests.models.shard import Envelope, Fact, Record, Shard

BLAMED = "an innocent task is dead as poison"
_TURN = Envelope(1)


class State(NamedTuple):
    shards: tuple[Shard, ...]
    lane: Lane
    running: tuple[frozenset[int], ...]
    """What each process runs."""
    kills: int = 0
    rebuilds: int = 0

    def with_shard(self, task: int, shard: Shard) -> "State":
        return self._replace(shards=(*self.shards[:task], shard, *self.shards[task + 1 :]))

    def with_running(self, process: int, tasks: frozenset[int]) -> "State":
        rest = (*self.running[:process], *self.running[process + 1 :])
        return self._replace(running=tuple(sorted((tasks, *rest), key=sorted)))

    def losses(self, task: int) -> int:
        return self.shards[task].losses_of(1)


class Mix(NamedTuple):
    """What waits in the lane, and how many processes take from it."""

    poisons: int = 1
    """They are the first tasks."""
    innocents: int = 2
    processes: int = 1


class Company(NamedTuple):
    """Tasks in a lane, of which some kill their process whenever they run."""

    rules: Rules
    mix: Mix = Mix()
    kills: int = 0
    rebuilds: int = 0

    def first(self) -> State:
        tasks = range(self.mix.poisons + self.mix.innocents)
        return State(
            tuple(Shard(record=Record(1)) for _ in tasks),
            Lane(line=frozenset(Member(task, 1) for task in tasks)),
            (frozenset(),) * self.mix.processes,
            self.kills,
            self.rebuilds,
        )

    def steps(self, state: State) -> Iterator[Step[State]]:
        for process, tasks in enumerate(state.running):
            for member in sorted(state.lane.line):
                yield from self._takes(state, process, member)
            for task in sorted(tasks):
                yield self._runs(state, process, task)
            if state.kills and tasks:
                dead = state.with_running(process, frozenset())._replace(kills=state.kills - 1)
                yield Step("the platform kills a process", dead, is_fault=True)
        if state.rebuilds and state.lane.suspects:
            plain = state.lane._replace(suspects=frozenset())
            filled = state._replace(lane=plain, rebuilds=state.rebuilds - 1)
            yield Step("the lane is filled anew: all wait in plain lines", filled, is_fault=True)
        held = {task for tasks in state.running for task in tasks}
        for member in sorted(one.member for one in state.lane.flight):
            if member.task not in held:
                yield self._comes_back(state, member)

    def _takes(self, state: State, process: int, member: Member) -> Iterator[Step[State]]:
        beside = state.running[process]
        runs_alone = any(state.losses(task) > LOSSES_IN_COMPANY for task in beside)
        if runs_alone and self.rules.nothing_starts_beside_a_suspect:
            return
        reply = take_tasks(state.lane, self.rules, picked=member, window=99, is_idle=not beside)
        if reply.answer == "TAKEN":
            taken = state._replace(lane=reply.lane)
            yield self._claims(taken, process, member)

    def _claims(self, state: State, process: int, member: Member) -> Step[State]:
        task, beside = member.task, state.running[process]
        before = state.shards[task].record
        source = 0 if before is None or before.source else 1  # another than of the take before
        reply = claim_turn(
            state.shards[task],
            self.rules,
            envelope=_TURN,
            source=source,
            is_late=False,
            alone=not beside,
        )
        claimed = state.with_shard(task, reply.shard)
        label = f"{self._named(task)} is claimed: {reply.answer}, {reply.losses} losses"
        if reply.answer == "SUSPECT":
            back = put_back(state.lane, self.rules, member=member, look=FRESH, alone=True)
            return Step(f"{label}, and put back", claimed._replace(lane=back.lane))
        if reply.losses >= LOSSES_BEFORE_POISON:
            return Step(f"{label}, dead", self._ended(claimed, task, "dead"))
        return Step(label, claimed.with_running(process, beside | {task}))

    def _runs(self, state: State, process: int, task: int) -> Step[State]:
        if task < self.mix.poisons:
            dead = state.with_running(process, frozenset())
            return Step(f"{self._named(task)} kills its process", dead)
        done = state.with_running(process, state.running[process] - {task})
        return Step(f"{self._named(task)} succeeds", self._ended(done, task, "succeeded"))

    def _ended(self, state: State, task: int, status: str) -> State:
        shard = state.shards[task]
        token = shard.record.token if shard.record else 0
        facts = (Fact(1, 1, status, token),)
        settled = settle_turn(
            shard, self.rules, envelope=_TURN, token=token, status=status, facts=facts
        )
        left = state.lane.without(Member(task, 1))
        return state.with_shard(task, settled.shard)._replace(lane=left)

    def _comes_back(self, state: State, member: Member) -> Step[State]:
        """Let the lease of a dead process lapse, and the tick find it."""
        task, shard = member.task, state.shards[member.task]
        record = shard.record
        if record is not None and record.lease == "alive":
            shard = shard._replace(record=record._replace(lease="lapsed"))
        looked = look_at_turn(shard, self.rules, envelope=_TURN)
        alone = looked.is_alone
        back = put_back(state.lane, self.rules, member=member, look=FRESH, alone=alone)
        after = state.with_shard(task, looked.shard)._replace(lane=back.lane)
        return Step(f"the tick puts {self._named(task)} back{' alone' if alone else ''}", after)

    def _named(self, task: int) -> str:
        return f"{'poison' if task < self.mix.poisons else 'innocent'} {task}"

    def broken(self, state: State) -> str | None:
        innocents = [shard.record for shard in state.shards[self.mix.poisons :]]
        return BLAMED if any(one and one.status == "dead" for one in innocents) else None

    def is_good(self, state: State) -> bool:
        records = [shard.record for shard in state.shards]
        is_empty = not (state.lane.line or state.lane.flight or any(state.running))
        return is_empty and all(one and one.is_final for one in records)
