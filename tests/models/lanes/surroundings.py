"""Everything around the workers: the dispatcher, what is due, gateways, operators, time."""

from collections.abc import Iterator

from tests.models.checker import Step
from tests.models.lanes.lane import Member
from tests.models.lanes.state import Mover, State, Worker, World, published
from tests.models.rules import Rules
from tests.models.scripts.clear_owed import clear_owed
from tests.models.scripts.enter_lane import enter_lane
from tests.models.scripts.forget_record import forget_record
from tests.models.scripts.set_rules import set_rules
from tests.models.scripts.take_due import take_due
from tests.models.shard import Entry, Fact, Record, Shard, told


def dispatcher_steps(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    """Enter, then commit."""
    for task in range(len(state.shards)) if state.left.duplicates else ():
        twice = state.spend("duplicates")._replace(pending=(*state.pending, Member(task, 1)))
        yield Step(f"the submission of {task} is published twice", twice, is_fault=True)
    member = state.entering
    if member is None:
        if state.pending:
            yield from _begun(state, state.pending[0], rules)
        return
    if state.left.kills and "dispatcher" in world.mortal:
        dead = state.spend("kills")._replace(entering=None)
        yield Step("the dispatcher is killed", dead, is_fault=True)
    done = state._replace(entering=None)
    if rules.enter_before_commit:
        yield Step(f"the dispatcher commits {member}", done._replace(pending=state.pending[1:]))
    else:
        yield _enters(done, member, rules)


def _begun(state: State, member: Member, rules: Rules) -> Iterator[Step[State]]:
    if not rules.enter_before_commit:
        committed = state._replace(pending=state.pending[1:], entering=member)
        yield Step(f"the dispatcher commits {member}", committed)
    elif not state.lane.is_cold:
        yield _enters(state._replace(entering=member), member, rules)


def _enters(state: State, member: Member, rules: Rules) -> Step[State]:
    reply = enter_lane(state.lane, rules, member=member)
    after = state._replace(lane=reply.lane)
    return Step(f"the dispatcher enters {member}: {reply.answer}", after)


def due_steps(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    """Take a turn that is due, publish its facts, enter it, clear it."""
    if state.mover is not None:
        yield from _moving(state, state.mover, rules, world)
        return
    if state.is_cold:
        return
    for task, shard in enumerate(state.shards):
        for entry in sorted(shard.due):
            if entry.kind == "turn":
                yield _taken(state, task, entry, rules)
            else:
                done = settled(state, task, entry, rules)
                yield Step(f"the scheduler publishes what it owes of {task}", done)


def _taken(state: State, task: int, entry: Entry, rules: Rules) -> Step[State]:
    shard = state.shards[task].with_entry(entry._replace(when="due"))
    reply = take_due(shard, rules)
    held = reply.entries[0]._replace(when="held 0")
    taken = state.with_shard(task, reply.shard)._replace(mover=Mover("enter", task, held))
    label = f"the scheduler takes {task}.{entry.turn}, which is due"
    if entry.facts:
        label += f", and publishes {told(entry.facts)}"
    return Step(label, published(taken, task, entry.facts, rules))


def settled(
    state: State, task: int, entry: Entry, rules: Rules, *, hold: int | None = None
) -> State:
    """Publish what is owed, and clear it, in one step; `due_set` has the details."""
    cleared = clear_owed(state.shards[task], rules, entry=entry, hold=hold).shard
    return sent(state.with_shard(task, cleared), task, entry, rules)


def sent(state: State, task: int, entry: Entry, rules: Rules) -> State:
    """Publish an entry: its facts, and the submission of a new generation."""
    if entry.kind != "submission":
        return published(state, task, entry.facts, rules)
    new = Fact(entry.generation, 1, "submitted", 0, 0, "X")
    member = Member(task, 1, entry.generation)
    after = published(state, task, (*entry.facts, new), rules)
    return after._replace(pending=(*state.pending, member))


def _moving(state: State, mover: Mover, rules: Rules, world: World) -> Iterator[Step[State]]:
    member = mover.member
    if state.left.kills and "scheduler" in world.mortal:
        dead = run_out(state.spend("kills"))._replace(mover=None)
        label = f"the scheduler is killed before: {mover.at} {member}; its hold runs out"
        yield Step(label, dead, is_fault=True)
    if mover.is_paused:
        awake = state._replace(mover=mover._replace(is_paused=False))
        yield Step("the scheduler wakes", awake)
        return
    if state.left.pauses and "scheduler" in world.drowsy:
        paused = state.spend("pauses")._replace(mover=mover._replace(is_paused=True))
        yield Step(f"the scheduler is paused before: {mover.at} {member}", paused, is_fault=True)
    if mover.at == "enter":
        reply = enter_lane(state.lane, rules, member=member)
        is_in = reply.answer != "COLD"
        entered = state if is_in else run_out(state)
        following = mover._replace(at="clear") if is_in else None
        after = entered._replace(lane=reply.lane, mover=following)
        yield Step(f"the scheduler enters {member}: {reply.answer}", after)
    else:
        cleared = clear_owed(state.shards[mover.task], rules, entry=mover.entry, hold=0)
        after = state.with_shard(mover.task, cleared.shard)._replace(mover=None)
        yield Step(f"the scheduler clears {member}: {cleared.answer}", after)


def run_out(state: State) -> State:
    """Let every hold run out."""
    shards = tuple(_run_out(shard) for shard in state.shards)
    return state._replace(shards=shards)


def _run_out(shard: Shard) -> Shard:
    for entry in shard.due:
        if entry.when == "held 0":
            shard = shard.with_entry(entry._replace(when="due"))
    return shard


def operator_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    if state.lane.is_cold:
        return
    if state.is_stopped:
        lane = set_rules(state.lane, rules, is_paused=False).lane
        yield Step("an operator resumes the lane", state._replace(lane=lane, is_stopped=False))
    elif state.left.stops:
        lane = set_rules(state.lane, rules, is_paused=True).lane
        stopped = state.spend("stops")._replace(lane=lane, is_stopped=True)
        yield Step("an operator pauses the lane", stopped, is_fault=True)


def time_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    if state.is_cold:
        return
    for task in range(len(state.shards)):
        yield from _lapses(state, task)
        record = state.record(task)
        row = state.rows[task]
        is_over = row.is_closed and record is not None and record.generation == row.generation
        if not state.left.expiries or record is None:
            continue
        shard = forget_record(state.shards[task], rules).shard
        if shard != state.shards[task] and (is_over or not record.is_final):
            expired = state.spend("expiries").with_shard(task, shard)
            yield Step(f"hours later the record of {task} ends", expired, is_fault=True)


def _lapses(state: State, task: int) -> Iterator[Step[State]]:
    """Let a lease expire that nobody extends, or that Redis lets nobody extend."""
    record = state.record(task)
    if record is None or record.lease != "alive":
        return
    holders = [one for one in state.workers if one is not None and holds(one, task, record)]
    is_kept = any(not one.is_paused for one in holders)
    if is_kept and not state.left.stalls:
        return
    shard = state.shards[task]._replace(record=record._replace(lease="lapsed"))
    one, other = (_lapsed(worker, task, record) for worker in state.workers)
    lapsed = state.with_shard(task, shard).with_workers((one, other))
    if is_kept:
        label = f"Redis stands still: the lease of {task} lapses, its holder lives"
        yield Step(label, lapsed.spend("stalls"), is_fault=True)
    else:
        yield Step(f"the lease of {task} lapses", lapsed)


def _lapsed(worker: Worker | None, task: int, record: Record) -> Worker | None:
    is_theirs = worker is not None and holds(worker, task, record)
    return worker._replace(has_lapsed=True) if worker and is_theirs else worker


def holds(worker: Worker, task: int, record: Record) -> bool:
    """Return whether it runs the turn of a record, or may take its restored lease."""
    turn = task, record.turn, record.generation
    if worker.at not in ("run", "settle") or worker.member != turn:
        return False
    may_take = record.source == -1 and not worker.has_lapsed and worker.token >= record.token
    return may_take or (worker.token == record.token and record.source != -1)
