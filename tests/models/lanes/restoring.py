"""The rebuild of the records' shard, step by step."""

from collections.abc import Callable, Iterator

from tests.models.checker import Step
from tests.models.lanes.state import Restoring, State, World
from tests.models.rules import Rules
from tests.models.scripts.begin_rebuild import begin_rebuild
from tests.models.scripts.keep_rebuild import keep_rebuild
from tests.models.scripts.open_shard import open_shard
from tests.models.scripts.restore_records import restore_records
from tests.models.shard import Shard


def restoring_steps(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    """Note the end of the log, wait for the ledger, restore, open."""
    if state.slow is not None:
        yield from _going_on(state, "slow", state.slow, rules)
    now = state.restoring
    if now is None:
        if state.is_cold and state.is_renewed:
            yield from _beginnings(state, rules)
        return
    if state.left.kills and "scheduler" in world.mortal:
        dead = state.spend("kills")._replace(restoring=None)
        yield Step(f"the rebuild is killed before: {now.at}", dead, is_fault=True)
    if state.left.pauses and "rebuild" in world.drowsy and state.slow is None:
        paused = state.spend("pauses")._replace(restoring=None, slow=now)
        yield Step(f"the rebuild is slow before: {now.at}", paused, is_fault=True)
    yield from _going_on(state, "restoring", now, rules)


def somebody_publishes(state: State) -> bool:
    """Within a lease all living processes have published what they decided before."""
    workers = any(one and one.at == "publish" and not one.is_paused for one in state.workers)
    gateways = any(not (one.is_published or one.is_paused) for one in state.gateways)
    return workers or gateways or any(one.at == "publish" for one in state.ticks)


def _beginnings(state: State, rules: Rules) -> Iterator[Step[State]]:
    word = state.words + 1
    replies = [begin_rebuild(shard, rules, word=word) for shard in state.shards]
    if replies[0].answer == "BEGUN":
        shards = tuple(reply.shard for reply in replies)
        begun = state._replace(shards=shards, restoring=Restoring("note", word), words=word)
        yield Step(f"a rebuild of the shard begins with word {word}", begun)
    if state.shards[0].word:
        gone = _each(state, lambda shard: shard._replace(word=0))
        yield Step("the word of a dead rebuild runs out", gone)


def _going_on(state: State, slot: str, now: Restoring, rules: Rules) -> Iterator[Step[State]]:
    name = f"rebuild {now.word}"
    if now.at == "open":
        opened = _each(state, lambda shard: open_shard(shard, rules, word=now.word).shard)
        opened = opened._replace(is_renewed=opened.is_cold and state.is_renewed, **{slot: None})
        yield Step(f"{name} opens the shard", opened)
    elif now.at == "restore":
        if not now.noted & state.unread:
            yield _restores(state, slot, now, rules)
    elif keep_rebuild(state.shards[0], rules, word=now.word).answer == "START AGAIN":
        yield Step(f"{name} finds its word gone", state._replace(**{slot: None}))
    elif not (rules.rebuild_waits_a_lease and somebody_publishes(state)):
        noted = state.unread if rules.rebuild_waits_for_the_ledger else frozenset()
        noting = now._replace(at="restore", noted=noted)
        yield Step(f"{name} notes the end of the log", state._replace(**{slot: noting}))


def _restores(state: State, slot: str, now: Restoring, rules: Rules) -> Step[State]:
    following: Restoring | None = now._replace(at="open")
    for task, shard in enumerate(state.shards):
        row = state.row(task)
        if row.is_closed and not rules.finished_are_restored:
            continue
        reply = restore_records(shard, rules, word=now.word, row=row)
        if reply.answer == "START AGAIN":
            following = None
        state = state.with_shard(task, reply.shard)
    return Step(f"rebuild {now.word} restores the records", state._replace(**{slot: following}))


def _each(state: State, change: Callable[[Shard], Shard]) -> State:
    return state._replace(shards=tuple(map(change, state.shards)))
