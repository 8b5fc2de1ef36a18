"""Redis forgets, and is rebuilt from the ledger."""

from collections.abc import Iterator

from tests.models.checker import Step
from tests.models.execution.state import Rebuild, State, World
from tests.models.rules import Rules
from tests.models.scripts.begin import begin
from tests.models.scripts.open import open as open_shard
from tests.models.scripts.restore import restore
from tests.models.shard import Shard, told


def forgetting_steps(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    shard = state.shard
    is_whole = not shard.is_cold or shard.record is not None
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
    record = shard.record
    if state.left.expiries and record and record.is_final and set(record.last) <= state.log:
        ended = shard._replace(record=None, old=max(shard.old, record.generation))
        expired = state.spend("expiries")._replace(shard=ended, decided=frozenset())
        yield Step("hours later the record of the finished task ends", expired, is_fault=True)


def _failover(state: State, replica: Shard, rules: Rules, world: World) -> Iterator[Step[State]]:
    server = state.shard.server + 1
    marker = replica.marker if rules.marker_names_the_server else server
    older = replica._replace(server=server, marker=marker)
    if not world.replica_is_kept:
        older = Shard(marker=0, server=server, clock=replica.clock)
    forgot = _forgot(state.spend("failovers"), older, world)._replace(replica=None)
    yield Step("the replica that stopped is promoted", forgot, is_fault=True)


def _forgot(state: State, shard: Shard, world: World) -> State:
    clock = max(0, state.shard.clock - world.clock_falls_back)
    return state._replace(shard=shard._replace(clock=clock), decided=frozenset(), replica=None)


def rebuild_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    rebuild = state.rebuild
    if rebuild is None:
        if state.shard.is_cold:
            word = state.words + 1
            reply = begin(state.shard, rules, word=word)
            begun = state._replace(shard=reply.shard, rebuild=Rebuild("note", word), words=word)
            yield Step(f"a rebuild begins with word {word}", begun)
        return
    if state.left.kills:
        dead = state.spend("kills")._replace(rebuild=None)
        yield Step(f"the rebuild is killed before: {rebuild.at}", dead, is_fault=True)
    if rebuild.at == "note":
        if not (rules.rebuild_waits_a_lease and _somebody_publishes(state)):
            noted = state.log if rules.rebuild_waits_for_the_ledger else frozenset()
            noting = state._replace(rebuild=rebuild._replace(at="restore", noted=noted))
            yield Step("the rebuild notes the end of the log", noting)
    elif rebuild.at == "restore":
        if rebuild.noted <= state.applied:
            yield from _restoring(state, rebuild, rules)
    else:
        reply = open_shard(state.shard, rules, word=rebuild.word)
        opened = state._replace(shard=reply.shard, rebuild=None)
        yield Step(f"the rebuild opens the shard: {reply.answer}", opened)


def _somebody_publishes(state: State) -> bool:
    """Within a lease all who live have published what they decided before."""
    flushing = any(one and one.at == "flush" and not one.is_paused for one in state.workers)
    client = state.client
    return flushing or (client is not None and client.at == "publish" and not client.is_paused)


def _restoring(state: State, rebuild: Rebuild, rules: Rules) -> Iterator[Step[State]]:
    if not state.row.status:
        opening = state._replace(rebuild=rebuild._replace(at="open"))
        yield Step("the rebuild finds the ledger silent", opening)
        return
    reply = restore(state.shard, rules, word=rebuild.word, row=state.row)
    following = None if reply.answer == "AGAIN" else rebuild._replace(at="open")
    restored = state._replace(shard=reply.shard, rebuild=following)
    what = reply.shard.record
    shown = f"g{what.generation} t{what.turn} {what.status}" if what else told(())
    yield Step(f"the rebuild restores {shown}: {reply.answer}", restored)
