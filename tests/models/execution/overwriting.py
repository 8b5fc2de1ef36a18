"""Another client overwrites the record's key, and the record is restored from the ledger."""

from collections.abc import Iterator

from tests.models.checker import Step
from tests.models.execution.forgetting import somebody_publishes
from tests.models.execution.state import State
from tests.models.execution.surroundings import published
from tests.models.rules import Rules
from tests.models.scripts.repair_record import repair_record


def overwriting_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    shard = state.shard
    if state.left.overwrites and not shard.is_cold and shard.record is not None:
        gone = shard._replace(record=None, is_overwritten=True)
        lost = state.spend("overwrites")._replace(shard=gone, decided=frozenset())
        yield Step("the record is overwritten", lost, is_fault=True)
    if state.mending is not None:
        yield from _mending(state, rules)
    elif shard.is_overwritten and not (rules.rebuild_waits_a_lease and somebody_publishes(state)):
        result = _told(state) if rules.mending_publishes_what_is_owed else state
        noted = result.log if rules.rebuild_waits_for_the_ledger else frozenset()
        yield Step("who mends it tells what is owed", result._replace(mending=noted))


def _told(state: State) -> State:
    """Publish everything owed except turns, which wait for their time; then note the log's end."""
    for entry in sorted(state.shard.due):
        if entry.kind == "turn":
            state = state._replace(log=state.log | set(entry.facts))
        else:
            state = published(state, entry)
    return state


def _mending(state: State, rules: Rules) -> Iterator[Step[State]]:
    if state.left.kills:
        dead = state.spend("kills")._replace(mending=None)
        yield Step("who mends it is killed", dead, is_fault=True)
    if not (state.mending or frozenset()) <= state.applied or not state.row.generation:
        return
    reply = repair_record(state.shard, rules, seen=None, row=state.row)
    mended = state._replace(shard=reply.shard, mending=None, words=state.words + 1)
    yield Step(f"the record is made anew from {state.row.status}: {reply.answer}", mended)
