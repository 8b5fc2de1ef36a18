"""Gateways that cancel, change, redrive and repeat: what they read, ask and publish."""

from collections.abc import Iterator

from tests.models.checker import Step
from tests.models.lanes.lane import Member
from tests.models.lanes.state import Gateway, Reader, State, World, decided
from tests.models.lanes.surroundings import holds, sent, settled
from tests.models.rules import Rules
from tests.models.scripts.admit import admit
from tests.models.scripts.cancel_task import cancel_task, may_run
from tests.models.scripts.change_task import change_task
from tests.models.scripts.clear_owed import clear_owed
from tests.models.scripts.redrive_task import redrive_task
from tests.models.scripts.repair_record import repair_record
from tests.models.scripts.withdraw_tasks import withdraw_tasks
from tests.models.shard import WAITING, Entry, Envelope, Fact, Record, Reply, Shard

_CHANGES, _CANCELS = 1, 2
"""Their holds; that of a scheduler is 0."""

RUNS_ON = "a task was cancelled as one that waits while its worker runs it"


def gateway_steps(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    """Cancel or change, publish, withdraw."""
    for task in () if state.is_cold else range(len(state.shards)):
        if state.left.cancels:
            yield from _cancels(state, task, rules, world)
        if state.left.changes:
            yield from _changes(state, task, rules)
    for gateway in sorted(state.gateways):
        yield from _going_on(state, gateway, rules, world)


def _going_on(state: State, gateway: Gateway, rules: Rules, world: World) -> Iterator[Step[State]]:
    rest = state._replace(gateways=state.gateways - {gateway})
    task = gateway.member.task
    yield Step(f"the gateway is killed that had changed {task}", rest, is_fault=True)
    if gateway.is_paused:
        yield Step("the gateway wakes", _put(rest, gateway._replace(is_paused=False)))
        return
    if state.left.pauses and "gateway" in world.drowsy:
        paused = _put(rest.spend("pauses"), gateway._replace(is_paused=True))
        yield Step("the gateway is paused", paused, is_fault=True)
    if gateway.is_published or not rules.withdrawing_follows_the_log:
        reply = withdraw_tasks(state.lane, rules, member=gateway.member, epoch=gateway.epoch)
        withdrawn = rest._replace(lane=reply.lane)
        yield Step(f"the gateway withdraws {gateway.member}: {reply.answer}", withdrawn)
    else:
        after = settled(rest, task, gateway.entry, rules, hold=gateway.hold)
        if _is_withdrawing(gateway, rules):
            after = _put(after, gateway._replace(is_published=True))
        yield Step(f"the gateway publishes the {gateway.entry.kind} of {task}", after)


def _put(state: State, gateway: Gateway) -> State:
    return state._replace(gateways=state.gateways | {gateway})


def _is_withdrawing(gateway: Gateway, rules: Rules) -> bool:
    is_asked = gateway.entry.kind != "facts" or gateway.entry.facts[-1].kind == "asked"
    return not (is_asked and rules.only_an_end_is_withdrawn)


def _cancels(state: State, task: int, rules: Rules, world: World) -> Iterator[Step[State]]:
    record = state.record(task)
    if record is None or record.is_final or record.cancel_requested:
        return
    seen = Record(record.generation, record.turn, record.status, record.token)
    owed = state.shards[task].owed_facts() if rules.cancel_takes_facts_over else ()
    kind = "asked" if may_run(record, rules) else "cancelled"
    facts = (*owed, Fact(record.generation, record.turn, kind, record.token))
    reader = Reader("canceller", task, seen, facts)
    if not world.reads_first:
        yield from _cancelled(state.spend("cancels"), reader, rules)
    elif state.reader is None:
        reading = state.spend("cancels")._replace(reader=reader)
        yield Step(f"a canceller reads the record of {task}", reading, is_fault=True)


def _cancelled(state: State, reader: Reader, rules: Rules) -> Iterator[Step[State]]:
    task, facts = reader.task, reader.facts
    is_asked = facts[-1].kind == "asked"
    reply = cancel_task(
        state.shards[task],
        rules,
        seen=reader.seen,
        facts=facts,
        is_asked=is_asked,
        hold=_CANCELS,
    )
    if reply.owed is None:
        return
    after = _owing(state, task, reply.owed, reply.shard, hold=_CANCELS)
    label = f"a gateway {'asks to cancel' if is_asked else 'cancels'} {task}"
    yield Step(label, after, is_fault=True, broken=_wrong_end(state, task, is_asked=is_asked))


def _changes(state: State, task: int, rules: Rules) -> Iterator[Step[State]]:
    """Change what waits: it is another turn, due at once."""
    shard, record = state.shards[task], state.record(task)
    if record is None or record.status not in ("queued", *WAITING):
        return
    owed = shard.owed_facts() if rules.a_change_takes_facts_over else ()
    changed = Envelope(record.generation, record.turn + 1)
    facts = (*owed, Fact(*changed[:2], "changed", record.token))
    reply = change_task(
        shard, rules, seen=record, envelope=changed, facts=facts, is_far=False, hold=_CHANGES
    )
    if reply.owed is not None:
        after = _owing(state.spend("changes"), task, reply.owed, reply.shard, hold=_CHANGES)
        yield Step(f"a gateway changes {task}", after, is_fault=True)


def _owing(state: State, task: int, entry: Entry, shard: Shard, *, hold: int) -> State:
    """Return the state in which a gateway has changed a record, and owes the facts."""
    record = state.record(task)
    after = decided(state.with_shard(task, shard), task, entry.facts[-1:])
    member = Member(task, record.turn if record else 0, entry.generation)
    gateway = Gateway(member, entry, state.lane.epoch, hold)
    return after._replace(gateways=after.gateways | {gateway})


def _wrong_end(state: State, task: int, *, is_asked: bool) -> str | None:
    record = state.record(task)
    if record is None or is_asked:
        return None
    runs = any(one and holds(one, task, record) and not one.has_lapsed for one in state.workers)
    return RUNS_ON if runs else None


def client_steps(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    """Begin another generation: a redrive, or a request that uses the key of a finished task."""
    for task, shard in enumerate(state.shards):
        record = shard.record
        if state.is_cold or record is None or not record.is_final:
            continue
        if state.left.redrives and record.status != "succeeded":
            yield from _redrives(state.spend("redrives"), task, record, rules, world)
        is_told = state.rows[task].is_closed or not rules.an_end_holds_its_key
        if state.left.reuses and is_told:
            past = shard._replace(past=record.generation)
            reply = admit(past, rules, submission=9, body=record.body)
            if reply.answer == "CREATED":
                yield _begins(state.spend("reuses"), task, reply, "a gateway uses the key of")


def _redrives(
    state: State, task: int, record: Record, rules: Rules, world: World
) -> Iterator[Step[State]]:
    reader = Reader("redriver", task, record, record.last)
    if not world.reads_first:
        yield from _redriven(state, reader, rules)
    elif state.reader is None:
        reading = state._replace(reader=reader)
        yield Step(f"a redriver reads the record of {task}", reading, is_fault=True)


def _redriven(state: State, reader: Reader, rules: Rules) -> Iterator[Step[State]]:
    task, seen = reader.task, reader.seen
    reply = redrive_task(
        state.shards[task], rules, seen=seen, status=seen.status, facts=reader.facts
    )
    if reply.answer == "REDRIVEN":
        yield _begins(state, task, reply, "a gateway redrives")


def _begins(state: State, task: int, reply: Reply, what: str) -> Step[State]:
    entry = reply.owed or reply.shard.entry((reply.generation, 1, "submission"))
    after = state.with_shard(task, reply.shard)
    if entry is not None:
        gateway = Gateway(Member(task, 1, reply.generation), entry, state.lane.epoch)
        after = after._replace(gateways=after.gateways | {gateway})
    return Step(f"{what} {task}: generation {reply.generation}", after, is_fault=True)


def reader_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    """Ask for the change that was decided by what was read before."""
    reader = state.reader
    if reader is None:
        return
    rest = state._replace(reader=None)
    yield Step(f"the {reader.name} gives up, or is killed", rest)
    if reader.name == "canceller":
        yield from _cancelled(rest, reader, rules)
    elif reader.name == "redriver":
        yield from _redriven(rest, reader, rules)
    else:
        yield from _repaired(rest, reader, rules)


def _repaired(state: State, reader: Reader, rules: Rules) -> Iterator[Step[State]]:
    task = reader.task
    reply = repair_record(state.shards[task], rules, seen=reader.seen, row=reader.row)
    if reply.answer == "DONE":
        label = f"the reconciler repairs the record of {task}: {reader.row.status}"
        yield Step(label, state.with_shard(task, reply.shard))


def repeat_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    """Let the client repeat its request: a replay publishes what is still owed without facts."""
    if not state.left.repeats:
        return
    for task, shard in enumerate(state.shards):
        body = shard.record.body if shard.record else ""
        owed = admit(shard, rules, submission=9, body=body).owed if body else None
        if owed is not None and not (owed.facts and rules.what_is_owed_goes_whole):
            cleared = clear_owed(shard, rules, entry=owed).shard
            after = state.spend("repeats").with_shard(task, cleared)
            sent_again = sent(after, task, owed._replace(facts=()), rules)
            yield Step(f"a repeated request publishes {task}", sent_again, is_fault=True)
