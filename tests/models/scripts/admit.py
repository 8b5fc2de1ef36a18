"""The step of `admit.lua`."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Entry, Envelope, Record, Reply, Shard


@answers("COLD", "CREATED", "BEFORE", "REPLAYED", "CONFLICT", unreadable="COLD")
def admit(shard: Shard, rules: Rules, *, submission: int, body: str) -> Reply:
    if shard.is_cold:
        return Reply("COLD", shard)
    record = shard.record
    if record is not None:
        generation = record.generation
        owed = shard.entry((generation, 1, "submission"))
        if record.submission == submission and rules.admit_knows_its_own:
            return Reply("BEFORE", shard, generation=generation, owed=owed)
        if not record.is_final or generation > shard.past:
            same = record.body == body
            return Reply(
                "REPLAYED" if same else "CONFLICT", shard, generation=generation, owed=owed
            )
    clock = shard.clock + 1
    born = max(clock, (record.generation if record else 0) + 1)
    envelope = Envelope(born, 1, submission, body)
    new = Record(born, token=record.token if record else 0, submission=submission, body=body)
    created = shard._replace(record=new, clock=clock)
    entry = Entry(born, 1, "submission", "later", (), envelope)
    return Reply("CREATED", created.with_entry(entry), generation=born)
