"""Dispatcher, worker, scheduler, relay and recorder around a key."""

from collections.abc import Iterator

from tests.models.admission.state import Line, State
from tests.models.checker import Step
from tests.models.ledger import fold
from tests.models.rules import Rules
from tests.models.scripts.admit import admit
from tests.models.scripts.claim_turn import claim_turn
from tests.models.scripts.clear_owed import clear_owed
from tests.models.scripts.settle_turn import settle_turn
from tests.models.shard import Entry, Envelope, Fact, Reply, told

OWN_DUPLICATE = "a submission was dropped as a duplicate of itself"
TWO_RUNS = "two generations of one key ran within its window"


def dispatcher_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    for line in sorted(state.pending):
        if line.is_dispatched or not state.has_kafka:
            continue
        envelope = line.envelope
        rest = state.pending - {line}
        done = state._replace(pending=rest | {Line(envelope, is_dispatched=True)})
        if envelope.generation:
            routed = done._replace(work=state.work | {envelope})
            yield Step(f"the dispatcher routes {envelope}", routed)
        elif not state.is_away:
            yield from _admitting(state, done, envelope, rules)


def _admitting(
    state: State, done: State, envelope: Envelope, rules: Rules
) -> Iterator[Step[State]]:
    reply = admit(state.shard, rules, submission=envelope.submission, body=envelope.body)
    label = f"the dispatcher admits {envelope}: {reply.answer}"
    if reply.answer == "COLD":
        return
    if state.left.kills:
        dead = state.spend("kills")._replace(shard=reply.shard)
        yield Step(f"{label}, and is killed", dead, is_fault=True)
    after = done._replace(shard=reply.shard)
    if reply.answer in ("CREATED", "BEFORE"):
        yield Step(label, _admitted(after, envelope._replace(generation=reply.generation), rules))
    else:
        record = state.shard.record
        is_own = record is not None and record.submission == envelope.submission
        broken = OWN_DUPLICATE if is_own else None
        yield Step(label, _dropped(after, reply, rules), broken=broken)


def _admitted(state: State, envelope: Envelope, rules: Rules) -> State:
    fact = Fact(envelope.generation, 1, "admitted", 0, envelope.submission, envelope.body)
    entry = Entry(envelope.generation, 1, "submission", "later")
    return state._replace(
        work=state.work | {envelope},
        log=state.log | ({fact} if rules.the_admitted_body_is_told else set()),
        shard=clear_owed(state.shard, rules, entry=entry).shard,
    )


def _dropped(state: State, reply: Reply, rules: Rules) -> State:
    """Drop a second submission after publishing what the winner still owes."""
    if reply.owed is None or not rules.a_drop_publishes_the_winner:
        return state
    cleared = clear_owed(state.shard, rules, entry=reply.owed).shard
    return state.published(reply.owed.envelope)._replace(shard=cleared)


def worker_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    """Claim, run and settle in one step; `execution` models these in detail."""
    record = state.shard.record
    if record is not None and record.lease == "alive":
        lapsed = state.shard._replace(record=record._replace(lease="lapsed"))
        yield Step("the restored lease lapses", state._replace(shard=lapsed))
    if state.is_away:
        return
    for envelope in sorted(state.work):
        reply = claim_turn(state.shard, rules, envelope=envelope, source=0, alone=True)
        rest = state._replace(work=state.work - {envelope}, shard=reply.shard)
        if reply.answer == "CLAIMED":
            yield _ran(state, rest, envelope, reply, rules)
        elif reply.answer == "OVER":
            refused = rest._replace(log=state.log | set(reply.facts))
            yield Step(f"the worker refuses {envelope}", refused)


def _ran(
    state: State, rest: State, envelope: Envelope, claimed: Reply, rules: Rules
) -> Step[State]:
    facts = (Fact(envelope.generation, 1, "succeeded", claimed.token),)
    settled = settle_turn(
        claimed.shard,
        rules,
        envelope=envelope,
        token=claimed.token,
        status="succeeded",
        facts=facts,
    )
    others = {generation for generation, _ in state.runs} - {envelope.generation}
    ran = rest._replace(
        shard=settled.shard,
        log=state.log | set(facts),
        runs=state.runs | {(envelope.generation, envelope.body)},
    )
    return Step(f"the worker runs {envelope}", ran, broken=TWO_RUNS if others else None)


def scheduler_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    if not state.has_kafka:
        return
    if not state.is_away and not state.shard.is_cold:
        for entry in sorted(state.shard.due):
            cleared = clear_owed(state.shard, rules, entry=entry).shard
            sent = state.published(entry.envelope)._replace(shard=cleared)
            yield Step(f"the scheduler publishes the owed {entry.envelope}", sent)
    for envelope in sorted(state.outbox):
        yield from _relaying(state, envelope, rules)


def _relaying(state: State, envelope: Envelope, rules: Rules) -> Iterator[Step[State]]:
    marked = state._replace(outbox=state.outbox - {envelope})
    if rules.the_relay_admits_nothing or state.is_away or state.shard.is_cold:
        yield Step(f"the relay publishes {envelope}", marked.published(envelope))
        if state.left.kills:
            twice = state.spend("kills").published(envelope)
            yield Step(f"the relay publishes {envelope}, and is killed", twice, is_fault=True)
        return
    reply = admit(state.shard, rules, submission=envelope.submission + 2, body=envelope.body)
    if reply.answer == "CREATED":
        new = envelope._replace(generation=reply.generation)
        yield Step(f"the relay admits {new}", marked._replace(shard=reply.shard).published(new))
    else:
        yield Step(f"the relay submits {envelope}: {reply.answer}", marked)


def recorder_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    for fact in sorted(state.log - state.applied):
        row = fold(state.row, fact, rules)
        heard = state._replace(applied=state.applied | {fact}, row=row)
        yield Step(f"the recorder applies {told((fact,))} {fact.body}", heard)
