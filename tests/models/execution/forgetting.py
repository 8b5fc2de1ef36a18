"""Redis loses its data and is rebuilt from the ledger."""

from collections.abc import Iterator

from tests.models.checker import Step
from tests.models.execution.state import Rebuild, State, World
from tests.models.rules import Rules
from tests.models.scripts.begin_rebuild import begin_rebuild
from tests.models.scripts.forget_record import forget_record
from tests.models.scripts.keep_rebuild import keep_rebuild
from tests.models.scripts.open_shard import open_shard
from tests.models.scripts.restore_records import restore_records
from tests.models.shard import Shard, told


def forgetting_steps(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    shard = state.shard
    is_whole = not shard.is_cold or shard.record is not None or shard.word
    if state.left.flushes and is_whole:
        empty = Shard(marker=0, server=shard.server, clock=shard.clock, old=shard.old)
        forgot = _forgot(state.spend("flushes"), empty, world)
        yield Step("Redis is emptied", forgot, is_fault=True)
    if state.left.failovers and not shard.is_cold:
        if state.replica is None:
            follows = state._replace(replica=shard)
            yield Step("the replica stops following", follows, is_fault=True)
        else:
            yield from _failover(state, state.replica, rules, world)
    if state.left.expiries:
        yield from _expiry(state, rules)


def _expiry(state: State, rules: Rules) -> Iterator[Step[State]]:
    """Let hours pass: every decided end has been published."""
    record = state.shard.record
    if record is None or not set(record.last) <= state.log:
        return
    forgotten = forget_record(state.shard, rules).shard
    if forgotten != state.shard:
        expired = state.spend("expiries")._replace(shard=forgotten, decided=frozenset())
        yield Step(f"hours later the record ends, {record.status}", expired, is_fault=True)


def _failover(state: State, replica: Shard, rules: Rules, world: World) -> Iterator[Step[State]]:
    server = state.shard.server + 1
    marker = replica.marker if rules.marker_names_the_server else server
    older = replica._replace(server=server, marker=marker, word=0)
    if not world.replica_is_kept:
        older = Shard(marker=0, server=server, clock=replica.clock)
    forgot = _forgot(state.spend("failovers"), older, world)._replace(replica=None)
    yield Step("the replica that stopped is promoted", forgot, is_fault=True)


def _forgot(state: State, shard: Shard, world: World) -> State:
    clock = max(0, state.shard.clock - world.clock_falls_back)
    return state._replace(shard=shard._replace(clock=clock), decided=frozenset(), replica=None)


def rebuild_steps(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    if state.slow is not None:
        yield from _going_on(state, "slow", state.slow, rules)
    if state.rebuild is None:
        yield from _beginnings(state, rules)
        return
    if state.left.kills:
        dead = state.spend("kills")._replace(rebuild=None)
        yield Step(f"the rebuild is killed before: {state.rebuild.at}", dead, is_fault=True)
    if state.left.pauses and world.rebuilds_may_pause:
        paused = state.spend("pauses")._replace(rebuild=None, slow=state.rebuild)
        yield Step(f"the rebuild is slow before: {state.rebuild.at}", paused, is_fault=True)
    yield from _going_on(state, "rebuild", state.rebuild, rules)


def _going_on(state: State, slot: str, rebuild: Rebuild, rules: Rules) -> Iterator[Step[State]]:
    name = f"rebuild {rebuild.word}"
    if rebuild.at == "open":
        reply = open_shard(state.shard, rules, word=rebuild.word)
        opened = state._replace(shard=reply.shard)._replace(**{slot: None})
        yield Step(f"{name} opens the shard: {reply.answer}", opened)
    elif rebuild.at == "restore":
        if rebuild.noted <= state.applied:
            yield from _restoring(state, slot, rebuild, rules)
    elif keep_rebuild(state.shard, rules, word=rebuild.word).answer == "START AGAIN":
        yield Step(f"{name} finds its word gone", state._replace(**{slot: None}))
    elif not (rules.rebuild_waits_a_lease and somebody_publishes(state)):
        noted = state.log if rules.rebuild_waits_for_the_ledger else frozenset()
        noting = rebuild._replace(at="restore", noted=noted)
        yield Step(f"{name} notes the end of the log", state._replace(**{slot: noting}))


def _beginnings(state: State, rules: Rules) -> Iterator[Step[State]]:
    if not state.shard.is_cold:
        return
    word = state.words + 1
    reply = begin_rebuild(state.shard, rules, word=word)
    if reply.answer == "BEGUN":
        begun = state._replace(shard=reply.shard, rebuild=Rebuild("note", word), words=word)
        yield Step(f"a rebuild begins with word {word}", begun)
    if state.shard.word:
        gone = state._replace(shard=state.shard._replace(word=0))
        yield Step("the word of a dead rebuild runs out", gone)


def somebody_publishes(state: State) -> bool:
    """Within a lease all living processes have published what they decided before."""
    flushing = any(one and one.at == "flush" and not one.is_paused for one in state.workers)
    client = state.client
    return flushing or (client is not None and client.at == "publish" and not client.is_paused)


def _restoring(state: State, slot: str, rebuild: Rebuild, rules: Rules) -> Iterator[Step[State]]:
    name = f"rebuild {rebuild.word}"
    opening = rebuild._replace(at="open")
    if not state.row.generation or (state.row.is_closed and not rules.finished_are_restored):
        yield Step(f"{name} finds nothing to restore", state._replace(**{slot: opening}))
        return
    reply = restore_records(state.shard, rules, word=rebuild.word, row=state.row)
    following = None if reply.answer == "START AGAIN" else opening
    restored = state._replace(shard=reply.shard)._replace(**{slot: following})
    what = reply.shard.record
    shown = f"g{what.generation} t{what.turn} {what.status}" if what else told(())
    yield Step(f"{name} restores {shown}: {reply.answer}", restored)
