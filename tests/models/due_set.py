"""The due set: how Redis's decisions reach the log, whatever process dies.

Two schedulers take, publish and clear; a worker retries or ends a turn; a client cancels.
Simplified: a worker's turn is one step, time has three values (later, due, held), and the log may
deliver in any order. The due set may lose a member whose bytes stay.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.checker import Step
from tests.models.rules import Rules
from tests.models.scripts.cancel_task import cancel_task
from tests.models.scripts.claim_turn import claim_turn
from tests.models.scripts.clear_owed import clear_owed
from tests.models.scripts.relist_owed import relist_owed
from tests.models.scripts.settle_turn import settle_turn
from tests.models.scripts.take_due import take_due
from tests.models.shard import Entry, Envelope, Fact, Record, Shard, told

DOUBLED = "two living schedulers publish the same entry, and neither was slow"


class Scheduler(NamedTuple):
    at: str = "idle"
    """idle, then before: facts, work, clear."""
    taken: tuple[Entry, ...] = ()


class State(NamedTuple):
    shard: Shard
    schedulers: tuple[Scheduler, Scheduler] = (Scheduler(), Scheduler())
    line: frozenset[Envelope] = frozenset()
    log: frozenset[Fact] = frozenset()
    decided: frozenset[Fact] = frozenset()
    retries: int = 0
    kills: int = 0
    pauses: int = 0
    cancels: int = 0
    slips: int = 0


class DueSet(NamedTuple):
    rules: Rules
    retries: int = 1
    kills: int = 1
    pauses: int = 1
    cancels: int = 1
    slips: int = 0

    def first(self) -> State:
        owed = Entry(1, 1, "turn", "later", (), Envelope(1))
        shard = Shard(record=Record(1), due=frozenset({owed}))
        return State(
            shard,
            retries=self.retries,
            kills=self.kills,
            pauses=self.pauses,
            cancels=self.cancels,
            slips=self.slips,
        )

    def steps(self, state: State) -> Iterator[Step[State]]:
        yield from self._time(state)
        yield from self._slips(state)
        for index in (0, 1):
            yield from self._scheduler(state, index)
        for envelope in sorted(state.line):
            yield from self._worker(state, envelope)
        if state.cancels:
            yield from self._client(state)

    def _time(self, state: State) -> Iterator[Step[State]]:
        for entry in sorted(state.shard.due):
            due = state._replace(shard=state.shard.with_entry(entry._replace(when="due")))
            name = f"{entry.kind} {entry.turn}"
            if entry.when == "later":
                yield Step(f"{name} becomes due", due)
            if entry.is_held:
                members = [one.member for each in state.schedulers for one in each.taken]
                if entry.member not in members:
                    yield Step(f"the hold on {name} runs out", due)
                elif state.pauses:
                    late = due._replace(pauses=state.pauses - 1)
                    yield Step(f"the hold on {name} runs out under its holder", late, is_fault=True)

    def _slips(self, state: State) -> Iterator[Step[State]]:
        for entry in sorted(state.shard.due):
            if state.slips and entry.when != "unlisted":
                shard = state.shard.with_entry(entry._replace(when="unlisted"))
                slipped = state._replace(shard=shard, slips=state.slips - 1)
                name = f"{entry.kind} {entry.turn}"
                yield Step(f"the due set loses {name}", slipped, is_fault=True)
        listed = relist_owed(state.shard, self.rules).shard
        if listed != state.shard:
            yield Step("the reconciler lists what is owed", state._replace(shard=listed))

    def _scheduler(self, state: State, index: int) -> Iterator[Step[State]]:
        one, other = state.schedulers[index], state.schedulers[1 - index]
        name = f"scheduler {index}"

        def put(new: Scheduler, base: State = state) -> State:
            pair = (new, other) if index == 0 else (other, new)
            return base._replace(schedulers=pair)

        if one.at == "idle":
            reply = take_due(state.shard, self.rules, hold=index)
            if reply.entries:
                taken = put(Scheduler("facts", reply.entries), state._replace(shard=reply.shard))
                yield Step(f"{name} takes {_named(reply.entries)}", taken)
            return
        if state.kills:
            dead = put(Scheduler(), state._replace(kills=state.kills - 1))
            yield Step(f"{name} is killed before: {one.at}", dead, is_fault=True)
        if one.at == "facts":
            facts = tuple(fact for entry in one.taken for fact in entry.facts)
            sent = state._replace(log=state.log | set(facts))
            yield Step(f"{name} publishes {told(facts)}", put(one._replace(at="work"), sent))
        elif one.at == "work":
            work = {entry.envelope for entry in one.taken if entry.kind == "turn"}
            sent = state._replace(line=state.line | work)
            yield Step(
                f"{name} publishes {_named(one.taken)}",
                put(one._replace(at="clear"), sent),
                broken=self._doubled(state, one, other),
            )
        else:
            reply = clear_owed(state.shard, self.rules, entry=one.taken[0], hold=index)
            rest = Scheduler("clear", one.taken[1:]) if one.taken[1:] else Scheduler()
            cleared = put(rest, state._replace(shard=reply.shard))
            yield Step(f"{name} clears {_named(one.taken[:1])}", cleared)

    def _doubled(self, state: State, one: Scheduler, other: Scheduler) -> str | None:
        mine = {entry.member for entry in one.taken}
        theirs = {entry.member for entry in other.taken}
        is_undisturbed = (state.pauses, state.slips) == (self.pauses, self.slips)
        if mine & theirs and is_undisturbed:
            return DOUBLED
        return None

    def _worker(self, state: State, envelope: Envelope) -> Iterator[Step[State]]:
        name = f"the worker runs {envelope}"
        rest = state._replace(line=state.line - {envelope})
        claimed = claim_turn(
            state.shard, self.rules, envelope=envelope, source=envelope.turn, alone=True
        )
        if claimed.answer != "CLAIMED":
            sent = rest._replace(shard=claimed.shard, log=state.log | set(claimed.facts))
            yield Step(f"the worker is refused {envelope}", sent)
            return
        for status, kind in (("succeeded", "succeeded"), ("retrying", "deferred")):
            if status == "retrying" and not state.retries:
                continue
            fact = Fact(envelope.generation, envelope.turn, kind, claimed.token)
            settled = settle_turn(
                claimed.shard,
                self.rules,
                envelope=envelope,
                token=claimed.token,
                status=status,
                facts=(fact,),
            )
            ended = rest._replace(
                shard=settled.shard,
                decided=state.decided | set(settled.facts),
                retries=state.retries - (status == "retrying"),
            )
            yield Step(f"{name}: {status}", ended._replace(log=state.log | set(settled.facts)))
            if state.kills and status == "retrying":
                # Its record is redelivered, but not before the next turn may have been published.
                dead = ended._replace(line=state.line, kills=state.kills - 1)
                yield Step(f"{name}: {status}, and dies before its facts", dead, is_fault=True)

    def _client(self, state: State) -> Iterator[Step[State]]:
        record = state.shard.record
        if record is None or record.is_final:
            return
        owed = state.shard.owed_facts() if self.rules.cancel_takes_facts_over else ()
        facts = (*owed, Fact(record.generation, record.turn, "cancelled", record.token))
        reply = cancel_task(state.shard, self.rules, seen=record, facts=facts)
        cancelled = state._replace(
            shard=reply.shard,
            cancels=state.cancels - 1,
            decided=state.decided | set(reply.facts),
        )
        yield Step(f"a client cancels: {reply.answer}", cancelled, is_fault=True)

    def broken(self, state: State) -> str | None:
        ends = {fact.kind for fact in state.log if fact.kind in ("succeeded", "cancelled")}
        return "two ends of one generation stand in the log" if len(ends) > 1 else None

    def is_good(self, state: State) -> bool:
        record = state.shard.record
        is_at_rest = not state.line and not state.shard.due
        is_idle = all(one.at == "idle" for one in state.schedulers)
        ended = record is not None and record.is_final
        return ended and is_at_rest and is_idle and state.decided <= state.log


def _named(entries: tuple[Entry, ...]) -> str:
    return ", ".join(f"{entry.kind} {entry.turn}" for entry in entries)
