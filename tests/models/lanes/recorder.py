"""The recorder, which reads the log into the ledger, and the reconciler, which compares."""

from collections.abc import Iterator

from tests.models.checker import Step
from tests.models.lanes.lane import Member
from tests.models.lanes.state import Reader, State, World, published
from tests.models.ledger import fold
from tests.models.rules import Rules
from tests.models.scripts.enter_lane import enter_lane
from tests.models.shard import WAITING, Record, told


def recorder_steps(state: State, rules: Rules) -> Iterator[Step[State]]:
    """Apply any fact that was not read yet: the partitions of the log are in no order."""
    for task, fact in sorted(state.unread):
        row = fold(state.ledger[task], fact, rules)
        ledger = (*state.ledger[:task], row, *state.ledger[task + 1 :])
        read = state._replace(ledger=ledger, unread=state.unread - {(task, fact)})
        yield Step(f"the recorder applies {told((fact,))} of {task}", read)


def reconciler_steps(state: State, rules: Rules, world: World) -> Iterator[Step[State]]:
    """Compare records and ledger once the ledger has read everything."""
    if not world.reconciles or state.is_cold or state.unread or state.reader:
        return
    for task in range(len(state.shards)):
        yield from _comparisons(state, task, rules)


def _comparisons(state: State, task: int, rules: Rules) -> Iterator[Step[State]]:
    record, row = state.record(task), state.row(task)
    if record is None:
        return
    is_same_end = record.is_final and record.status == row.status
    is_behind = row.is_further_than(record.generation, record.turn) and not is_same_end
    # It repairs what differs for a while: meanwhile everybody has published what was decided.
    if is_behind and not any(one == task for one, _ in state.unpublished):
        seen = Record(record.generation, record.turn, record.status, record.token)
        reading = state._replace(reader=Reader("reconciler", task, seen, row=row))
        yield Step(f"the reconciler sees that the record of {task} lags {row.status}", reading)
        return
    if record.is_final and not row.is_closed and record.last:
        sent = published(state, task, record.last, rules)
        yield Step(f"the reconciler publishes {told(record.last)} of {task}", sent)
    member = Member(task, record.turn, record.generation)
    if _is_nowhere(state, record, member):
        reply = enter_lane(state.lane, rules, member=member)
        yield Step(f"the reconciler enters {member}", state._replace(lane=reply.lane))


def _is_nowhere(state: State, record: Record, member: Member) -> bool:
    """Return whether the lane does not know a task that nobody runs and that waits for no time."""
    lane, shard = state.lane, state.shards[member.task]
    is_idle = not (record.is_final or record.lease == "alive" or record.status in WAITING)
    is_owed = bool(shard.due) or state.pending or state.entering or state.mover
    is_known = member in lane.line or lane.look_of(member) is not None
    return is_idle and not (is_owed or is_known or lane.is_cold)
