"""A lane is lost, or the records' shard, or both; each is rebuilt from the ledger."""

from collections.abc import Iterator

from tests.models.checker import Step
from tests.models.lanes.lane import Lane, Member, named
from tests.models.lanes.restoring import restoring_steps, somebody_publishes
from tests.models.lanes.state import State, World, late
from tests.models.lanes.surroundings import run_out, sent
from tests.models.ledger import Row
from tests.models.rules import Rules
from tests.models.scripts.begin_lane import begin_lane
from tests.models.scripts.fill_lane import fill_lane
from tests.models.scripts.open_lane import open_lane
from tests.models.scripts.open_shard import open_shard
from tests.models.scripts.place_turn import place_turn
from tests.models.scripts.renew_epoch import renew_epoch
from tests.models.scripts.repair_record import repair_record
from tests.models.scripts.restore_records import restore_records
from tests.models.shard import Record, Shard

_WORD = 1


def forgetting_steps(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    is_whole = not state.is_cold or (world.lags and bool(state.shards[0].word))
    if state.left.flushes and is_whole:
        emptied = _without_lane(_without_shard(state.spend("flushes"), world))
        yield Step("Redis is emptied", emptied, is_fault=True)
    if state.left.shard_losses and not state.is_cold:
        lost = _without_shard(state.spend("shard_losses"), world)
        yield Step("the shard is lost, the lane lives", lost, is_fault=True)
    if state.left.lane_losses and (not state.lane.is_cold or state.lane.word):
        lost = _without_lane(state.spend("lane_losses"))
        yield Step("the lane is lost", lost, is_fault=True)
    if state.left.failovers and not state.is_cold:
        if state.replica is None:
            follows = state._replace(replica=state.shards)
            yield Step("the replica of the shard stops following", follows, is_fault=True)
        else:
            yield _failover(state, state.replica, rules, world)


def _without_shard(state: State, world: World) -> State:
    empty = tuple(Shard(0, one.server, clock=one.clock, old=one.old) for one in state.shards)
    return _forgot(state, empty, world)


def _failover(state: State, replica: tuple[Shard, ...], rules: Rules, world: World) -> Step[State]:
    server = state.shards[0].server + 1
    older = tuple(
        one._replace(
            server=server, marker=one.marker if rules.marker_names_the_server else server, word=0
        )
        for one in replica
    )
    forgot = _forgot(state.spend("failovers"), older, world)
    return Step("the replica that stopped is promoted", forgot, is_fault=True)


def _forgot(state: State, shards: tuple[Shard, ...], world: World) -> State:
    pairs = zip(shards, state.shards, strict=True)
    behind = (one._replace(clock=max(0, now.clock - world.clock_falls_back)) for one, now in pairs)
    return state._replace(
        shards=tuple(behind),
        unpublished=frozenset(),
        is_renewed=False,
        replica=None,
        noted=None,
        mending=None,
    )


def _without_lane(state: State) -> State:
    return state._replace(lane=Lane(state.lane.epoch, is_cold=True))


def rebuild_steps(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    if world.lags:
        yield from restoring_steps(state, rules, world)
    if state.is_cold:
        yield from _shard_steps(state, rules, world)
    if state.rebuild:
        yield from _openings(state, rules, world)
    elif state.lane.is_cold and not state.is_cold:
        yield from _fillings(state, rules, world)


def _shard_steps(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    """Restore all records, in one step; `restoring` has the details."""
    if not state.is_renewed:
        lane = renew_epoch(state.lane, rules).lane
        renewed = state._replace(lane=lane, is_renewed=True)
        yield Step("the rebuild of the shard renews the epoch of the lane", renewed)
    elif not (world.lags or (rules.rebuild_waits_a_lease and somebody_publishes(state))):
        shards = tuple(map(_restored, state.shards, state.rows, [rules] * len(state.rows)))
        opened = state._replace(shards=shards, is_renewed=False)
        yield Step("the records are restored, and the shard opens", opened)


def _restored(shard: Shard, row: Row, rules: Rules) -> Shard:
    begun = shard._replace(word=_WORD)
    if row.is_closed and not rules.finished_are_restored:
        return open_shard(begun, rules, word=_WORD).shard
    restored = restore_records(begun, rules, word=_WORD, row=row).shard
    return open_shard(restored, rules, word=_WORD).shard


def _fillings(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    """Begin, wait a lease, wait for the ledger, fill: nobody sees the lane meanwhile.

    Where the ledger knows no unfinished task nothing was in the lane, so nothing is waited for.
    """
    if state.noted is not None:
        if not state.noted & state.unread:
            yield _filling(state, rules)
        return
    waits = rules.fill_waits_a_lease and not all(row.is_closed for row in state.rows)
    is_clearing = state.mover is not None and not state.mover.is_paused
    if waits and is_clearing:
        return
    waited = run_out(late(state)) if waits else state
    if not world.lags:
        yield _filling(waited, rules)
        return
    noted = state.unread if rules.rebuild_waits_for_the_ledger else frozenset()
    yield Step("the rebuild of the lane notes the end of the log", waited._replace(noted=noted))


def _filling(state: State, rules: Rules) -> Step[State]:
    begun = begin_lane(
        state.lane._replace(word=0), rules, word=_WORD, is_paused=state.is_stopped
    ).lane
    waiting, running, after = _placed(state, rules)
    filled = fill_lane(begun, rules, word=_WORD, waiting=waiting, running=running).lane
    label = f"the lane is filled: {named(waiting)} wait, {named(running)} run"
    return Step(label, after._replace(lane=filled, rebuild=_WORD, noted=None))


def _placed(state: State, rules: Rules) -> tuple[frozenset[Member], frozenset[Member], State]:
    """Return who waits, who is in flight, and the state after their records were read."""
    waiting, running = set(), set()
    for task in range(len(state.rows)):
        row, shard = state.row(task), state.shards[task]
        if row.is_closed or not row.generation or not rules.a_lane_is_filled:
            continue
        generation, turn = _turn_of(shard.record, row, rules)
        owed = shard.entry((generation, turn, "turn"))
        is_early = owed is not None and owed.when == "later"
        if owed is not None and not rules.fill_goes_by_the_ledger:
            continue
        reply = place_turn(shard, rules, row=row, is_early=is_early)
        state = state.with_shard(task, reply.shard)
        known = shard.record
        is_left_out = known is not None and known.is_final and not rules.fill_places_what_is_over
        match reply.answer:
            case "LIVES" if known is not None:
                running.add(Member(task, known.turn, known.generation))
            case "UNREADABLE" if rules.fill_lets_the_unreadable_run and not is_early:
                running.add(Member(task, turn, generation))
            case "UNREADABLE" if not rules.fill_lets_the_unreadable_run:
                waiting.add(Member(task, turn, generation))
            case "WAITS" if not is_left_out:
                waiting.add(Member(task, turn, generation))
    return frozenset(waiting), frozenset(running), state


def _turn_of(record: Record | None, row: Row, rules: Rules) -> tuple[int, int]:
    if record is None or rules.fill_goes_by_the_ledger:
        return row.waits_for
    return record[:2]


def _openings(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    if state.left.kills and "scheduler" in world.mortal:
        dead = state.spend("kills")._replace(rebuild=0)
        yield Step("the rebuild of the lane is killed before: open", dead, is_fault=True)
    reply = open_lane(state.lane, rules, word=state.rebuild)
    opened = state._replace(lane=reply.lane, rebuild=0)
    yield Step(f"the rebuild opens the lane: {reply.answer}", opened)


def overwriting_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    """Let another client overwrite a record, which is made anew from the ledger."""
    if state.is_cold:
        return
    for task, shard in enumerate(state.shards):
        if state.left.overwrites and shard.record is not None:
            gone = shard._replace(record=None, is_overwritten=True)
            kept = frozenset(one for one in state.unpublished if one[0] != task)
            lost = state.spend("overwrites").with_shard(task, gone)._replace(unpublished=kept)
            yield Step(f"the record of {task} is overwritten", lost, is_fault=True)
    found = [task for task, shard in enumerate(state.shards) if shard.is_overwritten]
    if state.mending is not None:
        yield from _mending(state, found, rules)
    elif found and not (rules.rebuild_waits_a_lease and somebody_publishes(state)):
        yield from _mended(state, found, rules)


def _mended(state: State, found: list[int], rules: Rules) -> Iterator[Step[State]]:
    """Publish what the tasks still owe, then make their records anew."""
    for task in found:
        for entry in sorted(state.shards[task].due) if rules.mending_publishes_what_is_owed else ():
            state = sent(state, task, entry, rules)
    if not state.ledger:
        yield from _repaired(state, found, rules)
        return
    noted = state.unread if rules.rebuild_waits_for_the_ledger else frozenset()
    yield Step("who mends records publishes what is owed", state._replace(mending=noted))


def _mending(state: State, found: list[int], rules: Rules) -> Iterator[Step[State]]:
    if state.left.kills:
        dead = state.spend("kills")._replace(mending=None)
        yield Step("who mends records is killed", dead, is_fault=True)
    if not (state.mending or frozenset()) & state.unread:
        yield from _repaired(state._replace(mending=None), found, rules)


def _repaired(state: State, found: list[int], rules: Rules) -> Iterator[Step[State]]:
    for task in found:
        if state.row(task).generation:
            reply = repair_record(state.shards[task], rules, seen=None, row=state.row(task))
            state = state.with_shard(task, reply.shard)
    yield Step(f"the records of {found} are made anew from the ledger", state)
