"""The step of `extend_lease.lua`: a lease that lapsed, but that nobody closed, goes on."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Envelope, Record, Reply, Shard


@answers("COLD", "HELD", "LOST", "CANCEL", unreadable="COLD")
def extend_lease(  # noqa: PLR0913 - one step, with all that its caller brings
    shard: Shard,
    rules: Rules,
    *,
    envelope: Envelope,
    token: int,
    source: int,
    is_sure: bool,
) -> Reply:
    """*is_sure* says that its last beat was answered less than a lease ago."""
    if shard.is_cold:
        return Reply("COLD", shard)
    record = shard.record
    if record is None or record[:2] != (envelope.generation, envelope.turn) or record.is_final:
        return Reply("LOST", shard)
    is_closed = record.lease == "closed" and rules.a_closed_lease_stays_closed
    if is_closed or not record.lease or not _is_theirs(record, token, is_sure=is_sure):
        return Reply("LOST", shard)
    holder = source if record.source == -1 else record.source
    held = record._replace(status="running", token=token, lease="alive", source=holder)
    return Reply("CANCEL" if record.cancel_requested else "HELD", shard._replace(record=held))


def _is_theirs(record: Record, token: int, *, is_sure: bool) -> bool:
    if record.source == -1:  # restored: its token may be older than its holder
        return is_sure and record.token <= token
    return record.token == token
