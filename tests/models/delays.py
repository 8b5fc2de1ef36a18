"""Tasks that wait for a time: far in the ledger, near in the due set, changed or cancelled.

A dispatcher delays the task, a scheduler brings it near, another publishes due entries, a client
changes or cancels it, a worker retries or ends a turn; the ledger reads the log in any order, and
late. Not modelled: taking and clearing, which are in the due set's model, and a worker's turn,
which is in that of lanes. When entries are due is left to chance; but a record does not expire
under a scheduler that brings its task near, since that takes no hour.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.checker import Step
from tests.models.rules import Rules
from tests.models.scripts.cancel_task import cancel_task
from tests.models.scripts.change_task import change_task
from tests.models.scripts.claim_turn import claim_turn
from tests.models.scripts.clear_owed import clear_owed
from tests.models.scripts.delay_task import delay_task
from tests.models.scripts.settle_turn import settle_turn
from tests.models.scripts.take_due import take_due
from tests.models.shard import WAITING, Envelope, Fact, Record, Reply, Shard, told

OUTDATED = "a task begins as it was before it was changed"
ENDS = ("succeeded", "cancelled")


class Nearing(NamedTuple):
    task: Envelope
    at: str
    """delay or leave: what comes next."""


class State(NamedTuple):
    shard: Shard
    pending: frozenset[Envelope]
    log: frozenset[Fact]
    told: frozenset[Fact] = frozenset()
    """What the ledger has applied."""
    left: frozenset[int] = frozenset()
    """The turns that the ledger does not keep alone any more."""
    near: frozenset[int] = frozenset()
    """The turns whose time has come near."""
    line: frozenset[Envelope] = frozenset()
    decided: frozenset[Fact] = frozenset()
    nearing: Nearing | None = None
    seen: Record | None = None
    """What a client saw before changing it."""
    body: str = ""
    """What the last change made of it."""
    changes: int = 0
    cancels: int = 0
    retries: int = 0
    kills: int = 0
    hours: int = 0


class Delays(NamedTuple):
    rules: Rules
    body: str = "far"
    changes: int = 1
    cancels: int = 1
    retries: int = 1
    kills: int = 1
    hours: int = 1

    def first(self) -> State:
        task = Envelope(1, body=self.body)
        submitted = Fact(1, 1, "submitted", body=self.body)
        return State(
            Shard(record=Record(1, status="scheduled", body=self.body)),
            frozenset({task}),
            frozenset({submitted}),
            body=self.body,
            changes=self.changes,
            cancels=self.cancels,
            retries=self.retries,
            kills=self.kills,
            hours=self.hours,
        )

    def steps(self, state: State) -> Iterator[Step[State]]:
        yield from self._dispatcher(state)
        yield from self._ledger(state)
        yield from self._nearing(state)
        yield from self._publisher(state)
        yield from self._client(state)
        for envelope in sorted(state.line):
            yield from self._worker(state, envelope)
        record = state.shard.record
        if state.hours and record is not None and record.ends and self._may_end(state):
            shard = state.shard._replace(record=None, old=record.generation)
            ended = state._replace(shard=shard, hours=state.hours - 1)
            yield Step("an hour passes, and the record ends", ended, is_fault=True)

    def _may_end(self, state: State) -> bool:
        orders = {fact for fact in state.decided if fact.kind in ("changed", "cancelled")}
        is_start_reported = orders <= state.told or not self.rules.orders_outlast_the_lag
        return is_start_reported and state.nearing is None

    def _dispatcher(self, state: State) -> Iterator[Step[State]]:
        for task in sorted(state.pending):
            is_far = _is_far(task)
            reply = delay_task(
                state.shard,
                self.rules,
                envelope=task,
                is_far=is_far,
                is_far_now=is_far and task.turn not in state.near,
                from_ledger=False,
            )
            read = state._replace(shard=reply.shard, pending=state.pending - {task})
            yield Step(f"the dispatcher lets it wait: {reply.answer}", read)
            if state.kills:
                dead = read._replace(pending=state.pending, kills=state.kills - 1)
                yield Step(f"{reply.answer}, and the dispatcher dies", dead, is_fault=True)

    def _ledger(self, state: State) -> Iterator[Step[State]]:
        for fact in sorted(state.log - state.told):
            known = state._replace(told=state.told | {fact})
            yield Step(f"the ledger is told: {told((fact,))}", known)

    def _nearing(self, state: State) -> Iterator[Step[State]]:
        if state.nearing is None:
            row = _far_row(state)
            if row is not None:
                first = "delay" if self.rules.far_rows_leave_last else "leave"
                yield Step(f"{row} comes near", state._replace(nearing=Nearing(row, first)))
            return
        task, at = state.nearing
        if state.kills:
            dead = state._replace(nearing=None, kills=state.kills - 1)
            yield Step(f"who brings it near dies before: {at}", dead, is_fault=True)
        if at == "delay":
            reply = self._load(state, task, is_far=False)
            rest = Nearing(task, "leave") if self.rules.far_rows_leave_last else None
            near = state.near | {task.turn}
            brought = state._replace(shard=reply.shard, nearing=rest, near=near)
            yield Step(f"it is brought near: {reply.answer}", brought)
        else:
            rest = None if self.rules.far_rows_leave_last else Nearing(task, "delay")
            left = state.left | set(range(1, task.turn + 1))
            yield Step("it is far no more", state._replace(left=left, nearing=rest))

    def _load(self, state: State, task: Envelope, *, is_far: bool) -> Reply:
        return delay_task(
            state.shard,
            self.rules,
            envelope=task,
            is_far=is_far,
            is_far_now=is_far,
            from_ledger=True,
        )

    def _publisher(self, state: State) -> Iterator[Step[State]]:
        for entry in sorted(state.shard.due):
            due = state.shard.with_entry(entry._replace(when="due"))
            reply = take_due(due, self.rules)
            (taken,) = reply.entries
            sent = state._replace(
                log=state.log | set(taken.facts),
                line=state.line | ({taken.envelope} if taken.kind == "turn" else set()),
            )
            cleared = clear_owed(reply.shard, self.rules, entry=entry, hold=0).shard
            name = f"{entry.kind} {entry.turn}"
            yield Step(f"{name} is published", sent._replace(shard=cleared))
            if state.kills:
                again = sent._replace(kills=state.kills - 1)
                yield Step(f"{name} is published, and not cleared", again, is_fault=True)

    def _client(self, state: State) -> Iterator[Step[State]]:
        record = state.shard.record
        if state.cancels and record is not None and not record.is_final:
            yield self._cancel(state, record)
        if state.seen is not None:
            yield from self._change(state, state.seen)
        elif state.changes and record is None:
            row = _far_row(state)
            if row is not None:
                reply = self._load(state, row, is_far=row.turn not in state.near)
                loaded = state._replace(shard=reply.shard)
                yield Step(f"a client loads it: {reply.answer}", loaded, is_fault=True)
        elif state.changes and record is not None and record.status in WAITING:
            yield Step("a client sees it", state._replace(seen=record), is_fault=True)

    def _cancel(self, state: State, record: Record) -> Step[State]:
        owed = state.shard.owed_facts()
        facts = (*owed, Fact(record.generation, record.turn, "cancelled", record.token))
        reply = cancel_task(state.shard, self.rules, seen=record, facts=facts)
        cancelled = state._replace(
            shard=reply.shard, cancels=state.cancels - 1, decided=state.decided | set(reply.facts)
        )
        return Step(f"a client cancels: {reply.answer}", cancelled, is_fault=True)

    def _change(self, state: State, seen: Record) -> Iterator[Step[State]]:
        turn = seen.turn + 1 if self.rules.a_change_is_a_new_turn else seen.turn
        owed = state.shard.owed_facts() if self.rules.a_change_takes_facts_over else ()
        for place in ("far", "near"):
            task = Envelope(seen.generation, turn, body=f"{place} {state.changes}")
            facts = (*owed, Fact(seen.generation, turn, "changed", body=task.body))
            reply = change_task(
                state.shard,
                self.rules,
                seen=seen,
                envelope=task,
                facts=facts,
                is_far=_is_far(task),
            )
            looked = state._replace(shard=reply.shard, seen=None)
            if reply.owed is None:
                yield Step("the client finds that it moved on", looked)
                return
            decided = looked._replace(
                changes=state.changes - 1, decided=state.decided | set(facts), body=task.body
            )
            cleared = clear_owed(reply.shard, self.rules, entry=reply.owed).shard
            log = state.log | set(facts)
            yield Step(f"it is to be {task.body}", decided._replace(shard=cleared, log=log))
            if state.kills:
                dead = decided._replace(kills=state.kills - 1)
                name = f"it is to be {task.body}, and the gateway dies behind the script"
                yield Step(name, dead, is_fault=True)

    def _worker(self, state: State, envelope: Envelope) -> Iterator[Step[State]]:
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
            # A worker may die between settling a retry and its facts: the next turn then owes them.
            log = state.log | set(settled.facts if status == "succeeded" else ())
            yield Step(
                f"the worker runs {envelope}: {status}",
                ended._replace(log=log),
                broken=OUTDATED if envelope.body != state.body else None,
            )

    def broken(self, state: State) -> str | None:
        ends = {fact.kind for fact in state.log if fact.kind in ENDS}
        return "two ends of one generation stand in the log" if len(ends) > 1 else None

    def is_good(self, state: State) -> bool:
        record = state.shard.record
        is_at_rest = not (state.pending or state.line or state.shard.due or state.nearing)
        is_over = (record is None or record.is_final) and _has_ended(state.told)
        return is_over and is_at_rest and state.decided <= state.log == state.told


def _is_far(task: Envelope) -> bool:
    return task.body.startswith("far")


def _has_ended(facts: frozenset[Fact]) -> bool:
    return any(fact.kind in ENDS for fact in facts)


def _far_row(state: State) -> Envelope | None:
    """Return the task that only the ledger keeps, as far as it is known."""
    if not state.told or _has_ended(state.told):
        return None
    last = max(state.told, key=lambda fact: (fact.turn, fact.kind == "deferred"))
    task = Envelope(last.generation, last.turn, body=last.body)
    return task if _is_far(task) and last.turn not in state.left else None
