"""The step of `park_turn.lua`."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import WAITING, Entry, Envelope, Reply, Shard


@answers("COLD", "OVER", "PARKED")
def park_turn(shard: Shard, rules: Rules, *, envelope: Envelope, slot: int, is_over: bool) -> Reply:
    """*is_over* says that it waited long enough."""
    if shard.is_cold:
        return Reply("COLD", shard)
    record, (generation, turn) = shard.record, envelope[:2]
    if record is not None and record.generation > generation:
        return Reply("OVER", shard)
    if record is not None and record.generation == generation:
        is_waiting = record.status in ("queued", *WAITING)
        if not is_waiting or record.turn != turn:
            return Reply("OVER", shard)
    if is_over:
        return Reply("OVER", shard)
    kind = f"parked {slot}" if rules.parking_again_is_another_name else "parked 0"
    return Reply("PARKED", shard.with_entry(Entry(generation, turn, kind, "later", (), envelope)))
