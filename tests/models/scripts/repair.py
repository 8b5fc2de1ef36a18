"""The step of `repair.lua`: on a live shard, what the reconciler saw is raised to the ledger."""

from tests.models.ledger import Row
from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Entry, Envelope, Record, Reply, Shard


@answers("COLD", "MOVED", "REPAIRED")
def repair(shard: Shard, _rules: Rules, *, seen: Record, row: Row) -> Reply:
    if shard.is_cold:
        return Reply("COLD", shard)
    record = shard.record
    if record is None or (record.generation, record.turn, record.token) != (
        seen.generation,
        seen.turn,
        seen.token,
    ):
        return Reply("MOVED", shard)
    generation, turn = row.waits_for
    raised = Record(
        generation,
        turn,
        row.status,
        max(record.token, row.largest_token),
        row.submission,
        row.body,
    )
    repaired = shard._replace(record=raised, due=frozenset())
    if row.status == "retrying":
        envelope = Envelope(generation, turn, row.submission, row.body)
        repaired = repaired.with_entry(Entry(generation, turn, "turn", "later", (), envelope))
    return Reply("REPAIRED", repaired)
