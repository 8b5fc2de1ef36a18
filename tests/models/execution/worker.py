"""A worker's invocation, step by step: the use cases `claim`, `execute` and `settle`."""

from collections.abc import Iterator

from tests.models.checker import Step
from tests.models.execution.state import State, Worker, World
from tests.models.rules import Rules
from tests.models.scripts.claim_turn import claim_turn
from tests.models.scripts.extend_lease import extend_lease
from tests.models.scripts.settle_turn import settle_turn
from tests.models.shard import FINAL, Fact, Reply, told

LOSSES_BEFORE_POISON = 3
_FACTS = {"retrying": "deferred"}

SECOND_RUN = "a second run: an end of this generation stands in the log"
TWO_HOLDERS = "two living holders of one turn, and the first one's lease has not lapsed"
TAKEN_OVER = "a settle was accepted from a holder whose turn another has taken over"
RAN_CANCELLED = "a task was begun although its cancellation was requested before"
TOO_EARLY = "a turn was begun before it was due"
SMALLER_TOKEN = "an accepted settle carries a smaller token than one before"  # noqa: S105 - no secret


def worker_steps(state: State, index: int, rules: Rules, world: World) -> Iterator[Step[State]]:
    worker = state.workers[index]
    if worker is None:
        yield from _deliveries(state, index, rules, world)
        return
    name = f"worker {index}"
    if state.left.kills:
        dead = _forget_process(state.spend("kills").put(index, None), index)
        yield Step(f"{name} is killed before: {worker.at}", dead, is_fault=True)
    if worker.is_paused:
        yield Step(f"{name} wakes", state.put(index, worker._replace(is_paused=False)))
        return
    may_pause = world.workers_may_pause and worker.at not in ("claim", "alone")
    if state.left.pauses and may_pause:
        paused = state.spend("pauses").put(index, worker._replace(is_paused=True))
        yield Step(f"{name} is paused before: {worker.at}", paused, is_fault=True)
    if state.left.rebalances and not worker.is_old:
        old = state.spend("rebalances").put(index, worker._replace(is_old=True))
        yield Step(f"{name} loses its partition", old, is_fault=True)
    yield from _STEPS[worker.at](state, index, worker, rules, world)


def _deliveries(state: State, index: int, rules: Rules, world: World) -> Iterator[Step[State]]:
    busy = [one.position for one in state.workers if one and not one.is_old]
    for position, envelope in enumerate(state.line):
        if position in state.committed:
            continue
        if position not in busy:
            taken = state.put(index, Worker("claim", position, envelope))
            if not rules.position_moves_after_the_work:
                taken = taken._replace(committed=state.committed | {position})
            yield Step(f"record {position} {envelope} comes to worker {index}", taken)
        if world.one_partition:
            return


def _forget_process(state: State, index: int) -> State:
    """No later process is the one that died."""
    record = state.shard.record
    if record is None or record.process != index:
        return state
    return state._replace(shard=state.shard._replace(record=record._replace(process=-2)))


def _claim(
    state: State, index: int, worker: Worker, rules: Rules, _world: World
) -> Iterator[Step[State]]:
    reply = claim_turn(
        state.shard,
        rules,
        envelope=worker.envelope,
        source=worker.position,
        process=index,
        alone=worker.at == "alone",
    )
    after = state._replace(shard=reply.shard)
    label = f"worker {index} claims {worker.envelope}: {reply.answer}"
    match reply.answer:
        case "CLAIMED":
            claimed = _claimed(worker, reply, rules)
            broken = _wrong_run(state, worker, index) if claimed.at == "run" else None
            if claimed.at == "run" and reply.is_cancelled:
                broken = RAN_CANCELLED
            label += f", token {reply.token}, {reply.losses} losses"
            yield Step(label, after.put(index, claimed), broken=broken)
            if state.left.lost_replies:
                blind = after.spend("lost_replies").put(index, None)
                yield Step(f"{label}; the reply is lost", blind, is_fault=True)
        case "SUSPECT":
            yield Step(label, after.put(index, worker._replace(at="alone")))
        case "REFUSED":
            at = "flush" if reply.facts else "commit"
            refused = worker._replace(at=at, facts=reply.facts)
            yield Step(f"{label}, owed {told(reply.facts)}", after.put(index, refused))
        case "FORGOTTEN":
            yield Step(label, after.put(index, worker._replace(at="commit")))
        case _:
            yield Step(label, after.put(index, None))


def _claimed(worker: Worker, reply: Reply, rules: Rules) -> Worker:
    if reply.is_cancelled and rules.cancelled_run_ends_cancelled:
        return worker._replace(at="settle", token=reply.token, end="cancelled")
    if reply.losses >= LOSSES_BEFORE_POISON:
        return worker._replace(at="settle", token=reply.token, end="dead")
    return worker._replace(at="run", token=reply.token)


def _wrong_run(state: State, worker: Worker, index: int) -> str | None:
    other = state.workers[1 - index]
    runs = other is not None and other.at == "run" and other.turn == worker.turn
    if other is not None and runs and not (other.is_paused or other.has_lapsed):
        return TWO_HOLDERS
    owed = state.shard.entry((*worker.turn, "turn"))
    if not state.words and owed is not None and owed.when == "later":
        return TOO_EARLY
    ended = any(
        fact.generation == worker.envelope.generation and fact.kind in FINAL for fact in state.log
    )
    return SECOND_RUN if ended else None


def _run(
    state: State, index: int, worker: Worker, rules: Rules, world: World
) -> Iterator[Step[State]]:
    name = f"worker {index}'s attempt at {worker.envelope}"
    ends = (*world.ends, *(("retrying",) if state.left.retries else ()))
    for end in ends:
        base = state.spend("retries") if end == "retrying" else state
        ended = base.put(index, worker._replace(at="settle", end=end))
        yield Step(f"{name} ends: {end}", ended)
    reply = extend_lease(state.shard, rules, envelope=worker.envelope, token=worker.token)
    after = state._replace(shard=reply.shard)
    if reply.answer in ("HELD", "CANCEL") and world.tells_starts and not worker.is_start_reported:
        start = Fact(*worker.turn, "started", worker.token)
        telling = after._replace(log=state.log | {start})
        yield Step(
            f"{name} beats and is told", telling.put(index, worker._replace(is_start_reported=True))
        )
    elif reply.answer in ("HELD", "CANCEL") and reply.shard != state.shard:
        yield Step(f"{name} beats: {reply.answer}", after)


def _settle(
    state: State, index: int, worker: Worker, rules: Rules, _world: World
) -> Iterator[Step[State]]:
    kind = _FACTS.get(worker.end, worker.end)
    facts = (Fact(*worker.turn, kind, worker.token),)
    reply = settle_turn(
        state.shard,
        rules,
        envelope=worker.envelope,
        token=worker.token,
        status=worker.end,
        facts=facts,
    )
    label = f"worker {index} settles {worker.end} with token {worker.token}: {reply.answer}"
    match reply.answer:
        case "SETTLED":
            after = state._replace(shard=reply.shard)
            if reply.shard != state.shard:
                after = after._replace(
                    accepted=max(state.accepted, worker.token),
                    decided=state.decided | set(reply.facts),
                )
            broken = _wrong_settle(state, worker, index) if reply.shard != state.shard else None
            flushing = worker._replace(at="flush", facts=reply.facts)
            yield Step(label, after.put(index, flushing), broken=broken)
            if state.left.lost_replies:
                blind = after.spend("lost_replies")
                yield Step(f"{label}; the reply is lost", blind, is_fault=True)
        case "CANCEL":
            yield Step(label, state.put(index, worker._replace(end="cancelled")))
        case "STALE" if not rules.stale_comes_again:
            yield Step(label, state.put(index, worker._replace(at="commit")))
        case _:
            yield Step(label, state.put(index, None))


def _wrong_settle(state: State, worker: Worker, index: int) -> str | None:
    record = state.shard.record
    if record is not None and record.lease and record.process not in (-1, index):
        return TAKEN_OVER
    return SMALLER_TOKEN if worker.token < state.accepted else None


def _flush(
    state: State, index: int, worker: Worker, _rules: Rules, _world: World
) -> Iterator[Step[State]]:
    sent = state._replace(log=state.log | set(worker.facts))
    flushed = sent.put(index, worker._replace(at="commit", facts=()))
    yield Step(f"worker {index} publishes {told(worker.facts)}", flushed)


def _commit(
    state: State, index: int, worker: Worker, _rules: Rules, _world: World
) -> Iterator[Step[State]]:
    done = state.put(index, None)
    committed = done._replace(committed=state.committed | {worker.position})
    name = f"record {worker.position}"
    if worker.is_old:
        yield Step(f"worker {index} can no longer commit {name}", done)
        yield Step(f"worker {index} still commits {name}", committed, is_fault=True)
    else:
        yield Step(f"{name} is committed", committed)


_STEPS = {
    "claim": _claim,
    "alone": _claim,
    "run": _run,
    "settle": _settle,
    "flush": _flush,
    "commit": _commit,
}
