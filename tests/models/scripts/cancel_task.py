"""The step of `cancel_task.lua`: it changes only what its caller read."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Entry, Fact, Record, Reply, Shard


def may_run(record: Record, rules: Rules, *, begins_later: bool = False) -> bool:
    """Return whether somebody runs it, or may."""
    is_restored = record.is_restored and not begins_later
    return record.status == "running" or (is_restored and rules.restored_leases_may_run)


@answers("COLD", "MOVED", "DONE", unreadable="COLD")
def cancel_task(  # noqa: PLR0913 - one step, with all that its caller brings
    shard: Shard,
    rules: Rules,
    *,
    seen: Record,
    facts: tuple[Fact, ...],
    is_asked: bool = False,
    begins_later: bool = False,
    hold: int = 0,
) -> Reply:
    """End it, or only ask it to end; nobody can hold a lease on a turn that *begins later*."""
    if shard.is_cold:
        return Reply("COLD", shard)
    record = shard.record
    if record is None:
        return Reply("MOVED", shard)
    snapshot = (record.generation, record.turn, record.status)
    is_as_seen = snapshot == (seen.generation, seen.turn, seen.status)
    if not (is_as_seen or not rules.control_compares) or record.cancel_requested:
        return Reply("MOVED", shard)
    if is_asked != may_run(record, rules, begins_later=begins_later):
        return Reply("MOVED", shard)
    owed = Entry(record.generation, record.turn, "facts", f"held {hold}", facts)
    answer = shard.with_entry(owed)
    if is_asked:
        asked = answer._replace(record=record._replace(cancel_requested=True))
        return Reply("DONE", asked, facts=facts, owed=owed)
    ended = record._replace(status="cancelled", last=facts, lease="", source=-1)
    rest = answer._replace(record=ended).without((record.generation, record.turn, "turn"))
    return Reply("DONE", rest, facts=facts, owed=owed)
