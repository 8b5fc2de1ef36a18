"""The step of `cancel.lua`: compare-and-set of what its caller read."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Entry, Fact, Record, Reply, Shard


@answers("COLD", "MOVED", "CANCELLED", "REQUESTED")
def cancel(shard: Shard, rules: Rules, *, seen: Record, facts: tuple[Fact, ...]) -> Reply:
    if shard.is_cold:
        return Reply("COLD", shard)
    record = shard.record
    if record is None:
        return Reply("MOVED", shard)
    is_as_seen = (record.generation, record.turn, record.status) == (
        seen.generation,
        seen.turn,
        seen.status,
    )
    if not is_as_seen and rules.control_compares:
        return Reply("MOVED", shard)
    if seen.status == "running":
        asked = record._replace(cancel_requested=True)
        owed = Entry(record.generation, record.turn, "facts", "later", facts)
        marked = shard._replace(record=asked).with_entry(owed)
        return Reply("REQUESTED", marked, facts=facts, owed=owed)
    ended = record._replace(status="cancelled", last=facts, lease="", source=-1, process=-1)
    owed = Entry(record.generation, record.turn, "facts", "later", facts)
    rest = shard._replace(record=ended).without((record.generation, record.turn, "turn"))
    return Reply("CANCELLED", rest.with_entry(owed), facts=facts, owed=owed)
