"""The step of `delay_task.lua`."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Entry, Envelope, Record, Reply, Shard


@answers("COLD", "OVER", "FORGOTTEN", "NEAR", "FAR", unreadable="FORGOTTEN")
def delay_task(  # noqa: PLR0913 - one step, with all that its caller brings
    shard: Shard,
    rules: Rules,
    *,
    envelope: Envelope,
    is_far: bool,
    is_far_now: bool,
    from_ledger: bool,
) -> Reply:
    """*is_far* is as set, or as of now when the ledger asks."""
    if shard.is_cold:
        return Reply("COLD", shard)
    record, generation, turn = shard.record, envelope.generation, envelope.turn
    if record and rules.delaying_compares:
        is_same_life, is_same_turn = record.generation == generation, record.turn == turn
        went_on = record.turn > turn or (is_same_turn and record.status != "scheduled")
        if record.generation > generation or (is_same_life and (record.is_final or went_on)):
            return Reply("OVER", shard)
    if not record and not from_ledger and generation <= shard.old:
        return Reply("FORGOTTEN", shard)
    if not record or record[:2] != (generation, turn):
        token, losses = record.token if record else 0, shard.losses_of(generation)
        answer = envelope.submission, envelope.body
        record = Record(generation, turn, "scheduled", token, *answer, losses=losses)
    if is_far:
        return Reply("FAR", shard._replace(record=record._replace(ends=is_far_now or record.ends)))
    kept = shard._replace(record=record._replace(ends=False))
    return Reply("NEAR", kept.owing(Entry(generation, turn, "turn", "later", (), envelope)))
