"""The step of `place_turn.lua`: where an unfinished task belongs whose lane is rebuilt."""

from tests.models.ledger import Row
from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import WAITING, Entry, Envelope, Record, Reply, Shard


@answers("COLD", "LIVES", "OWED", "WAITS", "UNREADABLE", unreadable="UNREADABLE")
def place_turn(shard: Shard, rules: Rules, *, row: Row, is_early: bool = False) -> Reply:
    """Close a lapsed lease in the same step; *is_early*: the row waits for a time ahead."""
    if shard.is_cold:
        return Reply("COLD", shard)
    record = shard.record
    if record is not None and _lives(record, rules, is_early=is_early):
        return Reply("LIVES", shard)
    if record is not None and record.lease == "lapsed" and rules.fill_closes_lapsed_leases:
        shard = shard._replace(record=record._replace(lease="closed"))
    if row.status in WAITING and not (record is not None and _is_further(record, row)):
        if shard.entry((*row.waits_for, "turn")) is not None:
            return Reply("OWED", shard)
        if is_early:
            return Reply("OWED", shard.with_entry(_entry(row)))
    return Reply("WAITS", shard)


def _lives(record: Record, rules: Rules, *, is_early: bool) -> bool:
    """Return whether a lease lives; one of nobody says little of a turn whose time is ahead."""
    if record.lease != "alive" or not rules.fill_reads_the_records:
        return False
    return not (record.is_restored and is_early)


def _is_further(record: Record, row: Row) -> bool:
    generation, turn = row.waits_for
    if record.generation != generation:
        return record.generation > generation
    return record.is_final or record.turn > turn


def _entry(row: Row) -> Entry:
    generation, turn = row.waits_for
    envelope = Envelope(generation, turn, row.submission, row.body)
    return Entry(generation, turn, "turn", "later", (), envelope)
