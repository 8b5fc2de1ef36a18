"""The step of `repair_record.lua`: it updates only what its caller read."""

from tests.models.ledger import Row
from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import WAITING, Entry, Envelope, Record, Reply, Shard


@answers("COLD", "MOVED", "DONE")
def repair_record(shard: Shard, rules: Rules, *, seen: Record | None, row: Row) -> Reply:
    """Also queue the task if no record was *seen*; the ledger's losses are left out."""
    if shard.is_cold:
        return Reply("COLD", shard)
    record = shard.record
    is_as_seen = (record and record[:3]) == (seen and seen[:3])
    if not is_as_seen and rules.control_compares:
        return Reply("MOVED", shard)
    generation, turn = row.waits_for
    token = max(record.token if record else 0, row.largest_token)
    losses = shard.losses_of(generation)
    raised = Record(generation, turn, row.status, token, row.submission, row.body, losses=losses)
    if raised.is_final:
        return Reply("DONE", shard._replace(record=raised, is_overwritten=False))
    waiting = raised._replace(lease="alive", cancel_requested=row.cancel_requested)
    repaired = shard._replace(record=waiting, is_overwritten=False)
    is_in_line = row.status not in WAITING and seen is not None
    if is_in_line:
        return Reply("DONE", repaired)
    envelope = Envelope(generation, turn, row.submission, row.body)
    when = "later" if row.status in WAITING else "due"
    return Reply("DONE", repaired.owing(Entry(generation, turn, "turn", when, (), envelope)))
