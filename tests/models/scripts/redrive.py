"""The step of `redrive.lua`: compare-and-set of what its caller read."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Entry, Envelope, Fact, Record, Reply, Shard


@answers("COLD", "MOVED", "REDRIVEN")
def redrive(shard: Shard, rules: Rules, *, seen: Record, facts: tuple[Fact, ...]) -> Reply:
    if shard.is_cold:
        return Reply("COLD", shard)
    record = shard.record
    if record is None or (record.generation, record.turn, record.status) != (
        seen.generation,
        seen.turn,
        seen.status,
    ):
        return Reply("MOVED", shard)
    born = max(shard.clock + 1, record.generation + 1)
    envelope = Envelope(born, 1, record.submission, record.body)
    owed = Entry(born, 1, "submission", "later", facts, envelope)
    kept = record.last if rules.redrive_keeps_last_facts else ()
    new = Record(born, 1, "queued", record.token, record.submission, record.body, last=kept)
    begun = shard._replace(record=new, clock=shard.clock + 1).with_entry(owed)
    return Reply("REDRIVEN", begun, generation=born, owed=owed)
