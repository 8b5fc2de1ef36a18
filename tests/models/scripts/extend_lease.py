"""The step of `extend_lease.lua`."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Envelope, Reply, Shard


@answers("COLD", "HELD", "LOST", "CANCEL", unreadable="COLD")
def extend_lease(shard: Shard, _rules: Rules, *, envelope: Envelope, token: int) -> Reply:
    if shard.is_cold:
        return Reply("COLD", shard)
    record = shard.record
    if (
        record is None
        or (record.generation, record.turn) != (envelope.generation, envelope.turn)
        or record.is_final
        or token < record.token
    ):
        return Reply("LOST", shard)
    held = shard._replace(record=record._replace(status="running", token=token, lease="alive"))
    return Reply("CANCEL" if record.cancel_requested else "HELD", held)
