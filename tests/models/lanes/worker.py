"""A worker's invocation, step by step: take, claim, run, settle, publish, leave."""

from collections.abc import Iterator

from tests.models.checker import Step
from tests.models.lanes.lane import FRESH, Lane
from tests.models.lanes.state import State, Worker, World, decided, published
from tests.models.rules import Rules
from tests.models.scripts.claim_turn import claim_turn
from tests.models.scripts.extend_lease import extend_lease
from tests.models.scripts.put_back import put_back
from tests.models.scripts.release_turn import release_turn
from tests.models.scripts.settle_turn import settle_turn
from tests.models.scripts.take_tasks import take_tasks
from tests.models.shard import Fact, Reply, told

LOSSES_BEFORE_POISON = 3
_FACTS = {"retrying": "deferred"}

TAKEN_OVER = "a settle was accepted from a holder whose turn another has taken over"
SECOND_RUN = "a second run: an end of the task stands in the log"
TOO_MANY = "more tasks run under living leases than the window allows"
UNHEARD = "a task was retried or died although its cancellation was requested"
TWO_HOLDERS = "two living holders of one turn, and the first one's lease has not lapsed"
RAN_CANCELLED = "a task was begun although its cancellation was requested before"
TOO_EARLY = "a turn was begun before it was due"
SMALLER_TOKEN = "an accepted settle carries a smaller token than one before"  # noqa: S105 - no secret
PAUSED = "a member was taken from a paused lane"


def worker_steps(state: State, index: int, rules: Rules, world: World) -> Iterator[Step[State]]:
    worker = state.workers[index]
    if worker is None:
        if index == 0 or (state.workers[0] is not None and world.workers > index):
            yield from _takes(state, index, rules, world)
        return
    if is_inert(worker, state, rules):
        yield from _STEPS[worker.at](state, index, worker, rules, world)
        return
    if state.left.kills and "worker" in world.mortal:
        dead = state.spend("kills").put(index, None)
        yield Step(f"{_name(worker)} is killed before: {worker.at}", dead, is_fault=True)
    if worker.is_paused:
        awake = worker._replace(is_paused=False)
        yield Step(f"{_name(worker)} wakes", state.put(index, awake))
        return
    may_pause = "worker" in world.drowsy and worker.at != "claim"
    if state.left.pauses and may_pause:
        paused = state.spend("pauses").put(index, worker._replace(is_paused=True))
        yield Step(f"{_name(worker)} is paused before: {worker.at}", paused, is_fault=True)
    yield from _STEPS[worker.at](state, index, worker, rules, world)


def is_inert(worker: Worker | None, state: State, rules: Rules) -> bool:
    """Return whether nothing that it still says changes anything, however late it says so."""
    if worker is None or worker.is_paused:
        return False
    if worker.at == "claim":
        return worker.is_late and rules.claims_carry_their_look
    is_done = worker.at == "leave" and not worker.facts
    return is_done and is_stale(state.lane, worker.epoch, rules)


def is_stale(lane: Lane, epoch: int, rules: Rules) -> bool:
    """Return whether the lane ignores a report, now and for ever."""
    return (lane.is_cold or lane.epoch != epoch) and rules.reports_name_their_epoch


def _name(worker: Worker) -> str:
    return f"worker of {worker.member}" + (f", token {worker.token}" if worker.token else "")


def _takes(state: State, index: int, rules: Rules, world: World) -> Iterator[Step[State]]:
    """Take any member whose gates are open: which one is first is a matter of order."""
    for member in sorted(state.lane.line):
        reply = take_tasks(state.lane, rules, picked=member, window=world.window)
        if reply.answer != "TAKEN":
            continue
        after = state._replace(lane=reply.lane)
        broken = PAUSED if state.is_stopped else None
        worker = Worker("claim", member, _source(state, member.task))
        label = f"a worker takes {member}"
        yield Step(label, after.put(index, worker), broken=broken)
        if state.left.lost_replies:
            blind = after.spend("lost_replies")
            yield Step(f"{label}; the reply is lost", blind, is_fault=True)


def _source(state: State, task: int) -> int:
    """Return a name that no other take of the task has."""
    record = state.record(task)
    busy = [one for one in state.workers if one and one.at in ("claim", "run", "settle")]
    known = {one.source for one in busy if one.member.task == task}
    known |= {record.source} if record else set()
    return min({0, 1, 2} - known)


def _claim(
    state: State, index: int, worker: Worker, rules: Rules, world: World
) -> Iterator[Step[State]]:
    task = worker.member.task
    reply = claim_turn(
        state.shards[task],
        rules,
        envelope=worker.envelope,
        source=worker.source,
        is_late=worker.is_late,
        alone=True,
    )
    after = state.with_shard(task, reply.shard)
    label = f"{_name(worker)} claims: {reply.answer}"
    match reply.answer:
        case "CLAIMED":
            claimed = _claimed(worker, reply, rules)
            broken = _wrong_run(state, claimed, index, world) if claimed.at == "run" else None
            broken = RAN_CANCELLED if claimed.at == "run" and reply.is_cancelled else broken
            label += f", token {reply.token}, {reply.losses} losses"
            yield Step(label, after.put(index, claimed), broken=broken)
            if state.left.lost_replies:
                again = after.spend("lost_replies").put(index, worker)
                yield Step(f"{label}; the reply is lost, it claims again", again, is_fault=True)
        case "OVER":
            asked = _asked(state, worker)._replace(at="publish", facts=reply.facts)
            if not rules.what_is_over_is_published_again:
                asked = asked._replace(at="leave", facts=())
            yield Step(label, after.put(index, asked))
        case "FORGOTTEN":
            yield Step(label, after.put(index, _asked(state, worker)._replace(at="leave")))
        case "HELD" if not rules.held_says_nothing:
            left = _left(after, _asked(state, worker), rules)
            yield Step(f"{label}, and says that it leaves", left.put(index, None))
        case _:
            yield Step(label, after.put(index, None))
    if not worker.is_late:
        back = put_back(state.lane, rules, member=worker.member, look=FRESH)
        stopped = state._replace(lane=back.lane).put(index, None)
        yield Step(f"{_name(worker)} stops and puts it back: {back.answer}", stopped)


def _asked(state: State, worker: Worker) -> Worker:
    """Its process knows the newest epoch that any take could answer before the record did.

    A lane that is COLD answers none, and opens under another one than before.
    """
    return worker._replace(source=0, epoch=0 if state.lane.is_cold else state.lane.epoch)


def _left(state: State, worker: Worker, rules: Rules) -> State:
    reply = take_tasks(state.lane, rules, epoch=worker.epoch, leaving=worker.member)
    return state._replace(lane=reply.lane)


def _claimed(worker: Worker, reply: Reply, rules: Rules) -> Worker:
    claimed = worker._replace(token=reply.token)
    if reply.is_cancelled and rules.cancelled_run_ends_cancelled:
        return claimed._replace(at="settle", end="cancelled")
    if reply.losses >= LOSSES_BEFORE_POISON:
        return claimed._replace(at="settle", end="dead")
    return claimed._replace(at="run")


def _wrong_run(state: State, worker: Worker, index: int, world: World) -> str | None:
    row = state.rows[worker.member.task]
    is_over = row.is_closed and row.generation >= worker.member.generation
    if world.second_run_is_wrong and is_over:
        return SECOND_RUN
    other = state.workers[1 - index]
    is_beside = other is not None and other.at == "run" and other.member == worker.member
    if other is not None and is_beside and not (other.is_paused or other.has_lapsed):
        return TWO_HOLDERS
    generation, turn = worker.envelope[:2]
    owed = state.shards[worker.member.task].entry((generation, turn, "turn"))
    if world.is_punctual and owed is not None and owed.when == "later":
        return TOO_EARLY
    around = (worker, other)
    running = {one.member.task for one in around if one and one.at == "run" and not one.has_lapsed}
    return TOO_MANY if len(running) > world.window else None


def _run(
    state: State, index: int, worker: Worker, rules: Rules, world: World
) -> Iterator[Step[State]]:
    name = f"{_name(worker)}: its attempt ends"
    done = worker._replace(at="settle")
    for end in world.ends:
        yield Step(f"{name}: {end}", state.put(index, done._replace(end=end)))
    if state.left.retries:
        retrying = state.spend("retries").put(index, done._replace(end="retrying"))
        yield Step(f"{name}: retrying", retrying)
    task = worker.member.task
    if state.left.releases:
        yield _release(state.spend("releases"), index, worker, rules)
    reply = extend_lease(
        state.shards[task],
        rules,
        envelope=worker.envelope,
        token=worker.token,
        source=worker.source,
        is_sure=not (worker.has_lapsed and rules.an_old_holder_takes_no_restored_lease),
    )
    is_telling = reply.answer in ("HELD", "CANCEL") and _may_tell(worker, world)
    if reply.shard != state.shards[task] or is_telling:
        beating = worker._replace(has_lapsed=False, is_start_reported=world.tells_starts)
        beats = state.with_shard(task, reply.shard).put(index, beating)
        if is_telling:
            start = Fact(*worker.envelope[:2], "started", worker.token)
            beats = published(beats, task, (start,), rules)
        yield Step(f"{_name(worker)} beats: {reply.answer}", beats)


def _may_tell(worker: Worker, world: World) -> bool:
    return world.tells_starts and not worker.is_start_reported


def _release(state: State, index: int, worker: Worker, rules: Rules) -> Step[State]:
    """Give it back in its record; the lane hears of it from the tick, or from a look that fits."""
    task = worker.member.task
    reply = release_turn(state.shards[task], rules, envelope=worker.envelope, token=worker.token)
    stopped = state.with_shard(task, reply.shard).put(index, None)
    return Step(f"{_name(worker)} stops: {reply.answer}", stopped)


def _settle(
    state: State, index: int, worker: Worker, rules: Rules, world: World
) -> Iterator[Step[State]]:
    task = worker.member.task
    generation, turn = worker.envelope[:2]
    fact = Fact(generation, turn, _FACTS.get(worker.end, worker.end), worker.token)
    reply = settle_turn(
        state.shards[task],
        rules,
        envelope=worker.envelope,
        token=worker.token,
        status=worker.end,
        facts=(fact,),
    )
    label = f"{_name(worker)} settles {worker.end}: {reply.answer}"
    match reply.answer:
        case "SETTLED":
            settled, broken = _settled(state, index, reply, world)
            over = _over(state, worker, reply, rules)
            yield Step(label, settled.put(index, over), broken=broken)
            if state.left.lost_replies:
                again = settled.spend("lost_replies")
                yield Step(f"{label}; the reply is lost, it settles again", again, is_fault=True)
        case "CANCEL":
            yield Step(label, state.put(index, worker._replace(end="cancelled")))
        case "STALE" if not rules.stale_says_nothing:
            left = _left(state, _asked(state, worker), rules)
            yield Step(f"{label}, and says that it leaves", left.put(index, None))
        case _:
            yield Step(label, state.put(index, None))


def _settled(state: State, index: int, reply: Reply, world: World) -> tuple[State, str | None]:
    """Return the state after an accepted settle, and what it breaks."""
    worker = state.workers[index]
    if worker is None or reply.shard == state.shards[worker.member.task]:
        return state, None
    task = worker.member.task
    after = decided(state.with_shard(task, reply.shard), task, reply.facts)
    if not world.second_run_is_wrong:
        after = _outran(after, index, worker)
    if world.clock_falls_back:
        after = after._replace(accepted=max(state.accepted, worker.token))
    return after, _wrong_settle(state, worker)


def _wrong_settle(state: State, worker: Worker) -> str | None:
    record = state.record(worker.member.task)
    is_theirs = record is None or not record.lease or record.source in (-1, worker.source)
    if not is_theirs:
        return TAKEN_OVER
    if record is not None and record.cancel_requested and worker.end in ("retrying", "dead"):
        return UNHEARD
    return SMALLER_TOKEN if worker.token < state.accepted else None


def _over(state: State, worker: Worker, reply: Reply, rules: Rules) -> Worker:
    """Return it with what is left to do: publish, then leave."""
    asked = _asked(state, worker)
    over = Worker("publish", worker.member, epoch=asked.epoch, facts=reply.facts)
    is_retry = reply.facts[0].kind == "deferred"
    if is_retry and not rules.a_retry_leaves_after_the_log:
        return over._replace(at="leave", facts=())
    return over if rules.leaving_follows_the_log else over._replace(at="leave")


def _outran(state: State, index: int, worker: Worker) -> State:
    """Let whoever else runs the turn be uncounted: its lease was taken back by one that lapsed."""
    other = state.workers[1 - index]
    is_beside = other is not None and other.at == "run" and other.member.task == worker.member.task
    if other is None or not (worker.has_lapsed and is_beside):
        return state
    beside = other._replace(has_lapsed=True)
    pair = (worker, beside) if index == 0 else (beside, worker)
    return state._replace(workers=pair)


def _publish(
    state: State, index: int, worker: Worker, rules: Rules, _world: World
) -> Iterator[Step[State]]:
    if not worker.has_said_end and not state.lane.is_cold:
        reply = take_tasks(state.lane, rules, epoch=worker.epoch, ended=worker.member)
        ended = state._replace(lane=reply.lane).put(index, worker._replace(has_said_end=True))
        yield Step(f"{_name(worker)} says that it has ended", ended)
    sent = published(state, worker.member.task, worker.facts, rules)
    following = worker._replace(at="leave", facts=()) if rules.leaving_follows_the_log else None
    yield Step(f"{_name(worker)} publishes {told(worker.facts)}", sent.put(index, following))


def _leave(
    state: State, index: int, worker: Worker, rules: Rules, _world: World
) -> Iterator[Step[State]]:
    following = worker._replace(at="publish") if worker.facts else None
    left = _left(state, worker, rules)
    label = f"{_name(worker)} says that it leaves"
    yield Step(label, left.put(index, following))
    if state.left.lost_replies and not state.lane.is_cold:
        again = left.spend("lost_replies")
        yield Step(f"{label}; the reply is lost, it says so again", again, is_fault=True)


_STEPS = {"claim": _claim, "run": _run, "settle": _settle, "publish": _publish, "leave": _leave}
