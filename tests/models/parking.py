"""A task of a type without a worker: it waits in the due set repeatedly, and then dies.

A dispatcher parks it, a scheduler takes, publishes and clears what is due, and a worker may be
deployed meanwhile. Time is a number of spans; a task parked within a span is due at its end. Not
looked into: what the worker or the burial does is one step.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.checker import Step
from tests.models.rules import Rules
from tests.models.scripts.claim_turn import claim_turn
from tests.models.scripts.clear_owed import clear_owed
from tests.models.scripts.park_turn import park_turn
from tests.models.scripts.settle_turn import settle_turn
from tests.models.scripts.take_due import take_due
from tests.models.shard import FINAL, Entry, Envelope, Fact, Record, Shard

LAST_SPAN = 2
"""In which it has waited long enough."""


class State(NamedTuple):
    shard: Shard = Shard(record=Record(1))
    pending: frozenset[Envelope] = frozenset({Envelope(1)})
    span: int = 0
    at: str = "idle"
    """What the scheduler does next: idle, publish or clear."""
    taken: Entry | None = None
    is_deployed: bool = False
    log: frozenset[Fact] = frozenset()
    kills: int = 0


class Parking(NamedTuple):
    rules: Rules
    kills: int = 1

    def first(self) -> State:
        return State(kills=self.kills)

    def steps(self, state: State) -> Iterator[Step[State]]:
        yield from _time(state)
        yield from self._scheduler(state)
        for envelope in sorted(state.pending):
            yield from self._dispatcher(state, envelope)
        if not state.is_deployed:
            deployed = state._replace(is_deployed=True)
            yield Step("a worker of its type is deployed", deployed, is_fault=True)

    def _scheduler(self, state: State) -> Iterator[Step[State]]:
        if state.taken is None:
            reply = take_due(state.shard, self.rules)
            for entry in reply.entries:
                taken = state._replace(shard=reply.shard, at="publish", taken=entry)
                yield Step(f"the scheduler takes {entry.kind}", taken)
            return
        if state.kills:
            dead = state._replace(kills=state.kills - 1, at="idle", taken=None)
            yield Step(f"the scheduler is killed before: {state.at}", dead, is_fault=True)
        if state.at == "publish":
            sent = state._replace(pending=state.pending | {state.taken.envelope}, at="clear")
            yield Step(f"the scheduler publishes {state.taken.kind}", sent)
        else:
            shard = clear_owed(state.shard, self.rules, entry=state.taken, hold=0).shard
            cleared = state._replace(shard=shard, at="idle", taken=None)
            yield Step(f"the scheduler clears {state.taken.kind}", cleared)

    def _dispatcher(self, state: State, envelope: Envelope) -> Iterator[Step[State]]:
        rest = state._replace(pending=state.pending - {envelope})
        if state.is_deployed:
            yield Step("its worker runs it", self._ended(rest, envelope, "succeeded"))
            return
        is_over = state.span == LAST_SPAN
        reply = park_turn(
            state.shard, self.rules, envelope=envelope, slot=state.span, is_over=is_over
        )
        if reply.answer == "OVER":
            yield Step("the dispatcher buries it", self._ended(rest, envelope, "dead"))
            return
        parked = rest._replace(shard=reply.shard)
        yield Step(f"the dispatcher parks it in span {state.span}", parked)
        if state.kills:
            again = parked._replace(pending=state.pending, kills=state.kills - 1)
            yield Step("the dispatcher parks it, and dies", again, is_fault=True)

    def _ended(self, state: State, envelope: Envelope, status: str) -> State:
        claimed = claim_turn(state.shard, self.rules, envelope=envelope, source=1, alone=True)
        if claimed.answer != "CLAIMED":
            return state._replace(shard=claimed.shard)
        fact = Fact(*envelope[:2], status, claimed.token)
        settled = settle_turn(
            claimed.shard,
            self.rules,
            envelope=envelope,
            token=claimed.token,
            status=status,
            facts=(fact,),
        )
        return state._replace(shard=settled.shard, log=state.log | set(settled.facts))

    def broken(self, state: State) -> str | None:
        ends = [fact for fact in state.log if fact.kind in FINAL]
        return "it ended twice" if len(ends) > 1 else None

    def is_good(self, state: State) -> bool:
        is_idle = not state.pending and not state.shard.due and state.taken is None
        return is_idle and bool(state.log)


def _time(state: State) -> Iterator[Step[State]]:
    for entry in state.shard.due:
        if entry.is_held and (state.taken is None or state.taken.member != entry.member):
            again = state.shard.with_entry(entry._replace(when="due"))
            yield Step(f"the hold on {entry.kind} runs out", state._replace(shard=again))
    if state.span == LAST_SPAN and not any(one.when == "later" for one in state.shard.due):
        return
    shard = state.shard
    for entry in state.shard.due:
        if entry.when == "later":
            shard = shard.with_entry(entry._replace(when="due"))
    span = min(state.span + 1, LAST_SPAN)
    yield Step(f"span {state.span} ends", state._replace(shard=shard, span=span))
