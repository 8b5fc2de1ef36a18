"""The step of `redrive_task.lua`: it changes only what its caller read."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Entry, Envelope, Fact, Record, Reply, Shard


@answers("COLD", "MOVED", "REDRIVEN", unreadable="COLD")
def redrive_task(
    shard: Shard, rules: Rules, *, seen: Record, status: str, facts: tuple[Fact, ...]
) -> Reply:
    """*seen* comes from the record, or from the ledger with an empty *status*."""
    if shard.is_cold:
        return Reply("COLD", shard)
    record = shard.record
    if (record.status if record else "") != status and rules.control_compares:
        return Reply("MOVED", shard)
    if record and record.generation != seen.generation and rules.control_compares:
        return Reply("MOVED", shard)
    born = max(shard.clock + 1, seen.generation + 1)
    envelope = Envelope(born, 1, seen.submission, seen.body)
    carried = facts if rules.next_turn_carries_facts else ()
    owed = Entry(born, 1, "submission", "later", carried, envelope)
    new = Record(
        born,
        token=max(record.token if record else 0, seen.token),
        submission=seen.submission,
        body=seen.body,
        last=facts if rules.redrive_keeps_last_facts else (),
    )
    begun = shard._replace(record=new, clock=shard.clock + 1).with_entry(owed)
    return Reply("REDRIVEN", begun, generation=born, owed=owed)
