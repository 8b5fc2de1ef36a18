"""The step of `restore.lua`: over what is there already, the ledger wins where it is further."""

from tests.models.ledger import Row
from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Entry, Envelope, Record, Reply, Shard


@answers("AGAIN", "KEPT", "RESTORED")
def restore(shard: Shard, rules: Rules, *, word: int, row: Row) -> Reply:
    if not shard.is_cold or (shard.word != word and rules.rebuild_compares_its_word):
        return Reply("AGAIN", shard)
    kept = shard.record
    if kept is not None and not row.is_further_than(kept.generation, kept.turn):
        if kept.is_final:
            return Reply("KEPT", shard)
        waiting = kept._replace(lease="alive", source=-1, process=-1)
        if not rules.restored_leases_are_nobodys:
            waiting = kept
        if waiting.status == "running":
            waiting = waiting._replace(status="queued")
        same = row.status == "retrying" and (kept.generation, kept.turn) == row.waits_for
        return Reply("KEPT", _owing(shard._replace(record=waiting), row if same else None))
    token = row.largest_token if rules.ledger_keeps_the_token else 0
    record = Record(
        row.generation,
        row.waits_for[1],
        row.status,
        max(token, kept.token if kept else 0),
        row.submission,
        row.body,
        cancel_requested=row.cancel_requested,
    )
    if row.is_closed:
        brought = record if rules.finished_are_restored else None
        return Reply("RESTORED", shard._replace(record=brought, due=frozenset()))
    if row.status == "running":
        record = record._replace(status="queued")
    if rules.restored_leases_are_nobodys:
        record = record._replace(lease="alive")
    restored = shard._replace(record=record, due=frozenset())
    waits = ("retrying",) if rules.restored_leases_are_nobodys else ("retrying", "running")
    return Reply("RESTORED", _owing(restored, row if row.status in waits else None))


def _owing(shard: Shard, row: Row | None) -> Shard:
    """Owe the turn that the ledger waits for, unless it is owed already."""
    if row is None or shard.entry((*row.waits_for, "turn")) is not None:
        return shard
    generation, turn = row.waits_for
    envelope = Envelope(generation, turn, row.submission, row.body)
    return shard.with_entry(Entry(generation, turn, "turn", "later", (), envelope))
