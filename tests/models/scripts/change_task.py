"""The step of `change_task.lua`: it changes only what its caller read."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Entry, Envelope, Fact, Record, Reply, Shard


@answers("COLD", "MOVED", "DONE", unreadable="COLD")
def change_task(  # noqa: PLR0913 - one step, with all that its caller brings
    shard: Shard,
    rules: Rules,
    *,
    seen: Record,
    envelope: Envelope,
    facts: tuple[Fact, ...],
    is_far: bool,
    begins_later: bool = False,
    hold: int = 0,
) -> Reply:
    if shard.is_cold:
        return Reply("COLD", shard)
    record = shard.record
    if record is None:
        return Reply("MOVED", shard)
    is_as_seen = record[:3] == seen[:3]
    if not (is_as_seen or not rules.control_compares) or record.cancel_requested:
        return Reply("MOVED", shard)
    if record.is_restored and not begins_later and rules.restored_leases_may_run:
        return Reply("MOVED", shard)
    turn = envelope.turn
    owed = Entry(record.generation, turn, "facts", f"held {hold}", facts)
    answer = shard.without((record.generation, seen.turn, "turn")).with_entry(owed)
    changed = record._replace(
        turn=turn,
        status="scheduled",
        body=envelope.body,
        last=facts,
        lease="",
        source=-1,
        ends=is_far,
    )
    rest = answer._replace(record=changed)
    if not is_far:
        carried = facts if rules.due_turns_publish_their_change else ()
        rest = rest.with_entry(Entry(record.generation, turn, "turn", "later", carried, envelope))
    return Reply("DONE", rest, facts=facts, owed=owed)
