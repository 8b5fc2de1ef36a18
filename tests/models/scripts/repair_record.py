"""The step of `repair_record.lua`: it raises only what its caller saw."""

from tests.models.ledger import Row
from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Entry, Envelope, Record, Reply, Shard


@answers("COLD", "MOVED", "DONE")
def repair_record(shard: Shard, rules: Rules, *, seen: Record, row: Row) -> Reply:
    if shard.is_cold:
        return Reply("COLD", shard)
    record = shard.record
    sight = (seen.generation, seen.turn, seen.status)
    if rules.control_compares and (record is None or record[:3] != sight):
        return Reply("MOVED", shard)
    generation, turn = row.waits_for
    token = max(record.token if record else 0, row.largest_token)
    raised = Record(generation, turn, row.status, token, row.submission, row.body)
    if raised.is_final:
        return Reply("DONE", shard._replace(record=raised))
    waiting = raised._replace(lease="alive", cancel_requested=row.cancel_requested)
    repaired = shard._replace(record=waiting)
    if row.status != "retrying" or shard.entry((generation, turn, "turn")):
        return Reply("DONE", repaired)
    envelope = Envelope(generation, turn, row.submission, row.body)
    return Reply(
        "DONE", repaired.with_entry(Entry(generation, turn, "turn", "later", (), envelope))
    )
