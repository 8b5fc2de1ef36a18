"""Everything around the workers: time, the due set, clients, the recorder, the reconciler."""

from collections.abc import Iterator

from tests.models.checker import Step
from tests.models.execution.state import Client, State, Worker, World
from tests.models.ledger import fold
from tests.models.rules import Rules
from tests.models.scripts.admit import admit
from tests.models.scripts.cancel_task import cancel_task, may_run
from tests.models.scripts.clear_owed import clear_owed
from tests.models.scripts.redrive_task import redrive_task
from tests.models.scripts.repair_record import repair_record
from tests.models.shard import FINAL, Entry, Fact, Record, told

RUNS_ON = "a task was cancelled as one that waits while its worker runs it"


def time_steps(state: State) -> Iterator[Step[State]]:
    """Let a lease expire that nobody holds, or whose holder is paused."""
    record = state.shard.record
    if record is None or record.lease != "alive":
        return
    holders = [one for one in state.workers if one is not None and holds(one, record)]
    if any(not one.is_paused for one in holders):
        return
    lapsed = state._replace(shard=state.shard._replace(record=record._replace(lease="lapsed")))
    for index, one in enumerate(state.workers):
        if one is not None and holds(one, record):
            lapsed = lapsed.put(index, one._replace(has_lapsed=True))
    yield Step("the lease lapses", lapsed)


def holds(worker: Worker, record: Record) -> bool:
    own = worker.token == record.token or (record.source == -1 and worker.token > record.token)
    same = worker.turn == (record.generation, record.turn)
    return own and same and worker.at in ("run", "settle")


def due_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    """Publish an entry and clear it, in one step; `due_set` models this in detail."""
    if state.shard.is_cold:
        return
    for entry in sorted(state.shard.due):
        cleared = clear_owed(state.shard, rules, entry=entry).shard
        sent = published(state, entry)._replace(shard=cleared)
        yield Step(f"the scheduler publishes {_named(entry)}", sent)
    if state.left.duplicates:
        for envelope in sorted(set(state.line)):
            twice = state.spend("duplicates")._replace(line=(*state.line, envelope))
            yield Step(f"{envelope} is published a second time", twice, is_fault=True)


def published(state: State, entry: Entry) -> State:
    """Send an entry's facts and its task, already routed."""
    facts = set(entry.facts)
    if entry.kind == "submission":
        facts.add(Fact(entry.generation, 1, "submitted", 0, 0, "X"))
    line = state.line if entry.kind == "facts" else (*state.line, entry.envelope)
    return state._replace(log=state.log | facts, line=line)


def client_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    client = state.client
    if client is None:
        yield from _readings(state, rules)
        return
    if state.left.kills:
        dead = state.spend("kills")._replace(client=None)
        yield Step(f"the {client.name} is killed", dead, is_fault=True)
    if client.is_paused:
        awake = client._replace(is_paused=False)
        yield Step(f"the {client.name} wakes", state._replace(client=awake))
        return
    if client.at == "ask":
        yield from _asking(state, client, rules)
        return
    if client.owed is not None:
        sent = published(state, client.owed)
        cleared = clear_owed(state.shard, rules, entry=client.owed).shard
        done = sent._replace(client=None, shard=cleared)
        yield Step(f"the {client.name} publishes {_named(client.owed)}", done)
    if state.left.pauses:
        paused = state.spend("pauses")._replace(client=client._replace(is_paused=True))
        yield Step(f"the {client.name} is paused", paused, is_fault=True)


def repeat_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    """Let the client repeat its request: a replay publishes what is still owed without facts."""
    if not state.left.repeats:
        return
    body = state.shard.record.body if state.shard.record else ""
    owed = admit(state.shard, rules, submission=9, body=body).owed if body else None
    if owed is not None and not (owed.facts and rules.what_is_owed_goes_whole):
        cleared = clear_owed(state.shard, rules, entry=owed).shard
        sent = published(state.spend("repeats"), owed._replace(facts=()))
        repeated = sent._replace(shard=cleared)
        yield Step(f"a repeated request publishes {_named(owed)}", repeated, is_fault=True)


def reuse_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    """Let the key be reused after its window and some time after the end of its task."""
    record = state.shard.record
    if not state.left.reuses or state.shard.is_cold or record is None or not record.is_final:
        return
    if rules.an_end_holds_its_key and not set(record.last) <= state.log:
        return
    past = state.shard._replace(past=record.generation)
    reply = admit(past, rules, submission=9, body=record.body)
    reused = state.spend("reuses")._replace(shard=reply.shard)
    yield Step(f"the key is used again: {reply.answer} g{reply.generation}", reused, is_fault=True)


def _readings(state: State, rules: Rules) -> Iterator[Step[State]]:
    record = state.shard.record
    if state.shard.is_cold or record is None:
        return
    seen = Record(record.generation, record.turn, record.status, record.token)
    if state.left.cancels and not record.is_final and not record.cancel_requested:
        owed = state.shard.owed_facts() if rules.cancel_takes_facts_over else ()
        kind = "asked" if may_run(record, rules) else "cancelled"
        facts = (*owed, Fact(record.generation, record.turn, kind, record.token))
        reading = state.spend("cancels")._replace(client=Client("ask", "canceller", seen, facts))
        yield Step("a canceller reads the record", reading, is_fault=True)
    if state.left.redrives and record.status in ("dead", "cancelled"):
        reading = state.spend("redrives")._replace(
            client=Client("ask", "redriver", seen, record.last)
        )
        yield Step("a redriver reads the record", reading, is_fault=True)


def _asking(state: State, client: Client, rules: Rules) -> Iterator[Step[State]]:
    seen, facts = client.seen, client.facts
    if client.name == "canceller":
        is_asked = facts[-1].kind == "asked"
        reply = cancel_task(state.shard, rules, seen=seen, facts=facts, is_asked=is_asked)
    elif client.name == "redriver":
        reply = redrive_task(state.shard, rules, seen=seen, status=seen.status, facts=facts)
    else:
        reply = repair_record(state.shard, rules, seen=seen, row=client.row)
    label = f"the {client.name} asks: {reply.answer}"
    if reply.owed is None:  # it reads again, or gives up: both start over
        again = state._replace(client=None, shard=reply.shard)
        yield Step(label, again)
        return
    decided = {fact for fact in reply.facts if fact.kind in FINAL}
    publishing = client._replace(at="publish", owed=reply.owed, facts=())
    ordered = state._replace(shard=reply.shard, client=publishing, decided=state.decided | decided)
    yield Step(label, ordered, broken=_wrong_end(state, ordered))


def _wrong_end(before: State, after: State) -> str | None:
    record, ended = before.shard.record, after.shard.record
    if record is None or ended is None or ended.status != "cancelled":
        return None
    runs = any(one and holds(one, record) and not one.has_lapsed for one in before.workers)
    return RUNS_ON if runs else None


def recorder_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    for fact in sorted(state.log - state.applied):
        told_now = state._replace(applied=state.applied | {fact}, row=fold(state.row, fact, rules))
        yield Step(f"the recorder applies {told((fact,))}", told_now)
    for fact in sorted(state.applied):
        row = fold(state.row, fact, rules)
        if row != state.row:
            again = state._replace(row=row)
            yield Step(f"the recorder applies {told((fact,))} again", again, is_fault=True)


def reconciler_steps(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    """Compare record and ledger once the ledger has caught up."""
    record, row = state.shard.record, state.row
    if not world.reconciles or state.shard.is_cold or not record or state.client:
        return
    if state.log != state.applied:
        return
    is_behind = row.is_further_than(record.generation, record.turn)
    if is_behind and not (record.is_final and row.status == record.status):
        seen = Record(record.generation, record.turn, record.status, record.token)
        reading = state._replace(client=Client("ask", "reconciler", seen, (), row=row))
        yield Step(f"the reconciler sees a record behind {row.status}", reading)
        return
    is_ahead = record.is_final and not row.is_closed
    if is_ahead and not set(record.last) <= state.log:
        sent = state._replace(log=state.log | set(record.last))
        yield Step(f"the reconciler publishes {told(record.last)}", sent)
    if not (record.is_final or record.lease == "alive" or state.shard.due or any(state.workers)):
        position = len(state.line)
        wanted = (record.generation, record.turn)
        in_line = any(
            (one.generation, one.turn) == wanted
            for position, one in enumerate(state.line)
            if position not in state.committed
        )
        if not in_line:
            envelope = state.line[0]._replace(generation=wanted[0], turn=wanted[1])
            orphan = state._replace(line=(*state.line, envelope))
            yield Step(f"the reconciler puts {envelope} in line as record {position}", orphan)


def _named(entry: Entry) -> str:
    name = f"{entry.kind} g{entry.generation} t{entry.turn}"
    return f"{name} with {told(entry.facts)}" if entry.facts else name
