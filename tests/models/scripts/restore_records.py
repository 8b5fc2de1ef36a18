"""The step of `restore_records.lua`, for one of its tasks, which is not far."""

from tests.models.ledger import Row
from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import WAITING, Entry, Envelope, Record, Reply, Shard


@answers("START AGAIN", "KEPT", "RESTORED")
def restore_records(  # noqa: C901 - one step, in the order of the script
    shard: Shard, rules: Rules, *, word: int, row: Row
) -> Reply:
    if (shard.word != word and rules.rebuild_compares_its_word) or not shard.is_cold:
        return Reply("START AGAIN", shard)
    known = shard.record
    shard = shard._replace(is_overwritten=False)
    generation, turn = row.waits_for
    answer = row.largest_token if rules.ledger_keeps_the_token else 0
    token = max(known.token if known else 0, answer)
    is_further = known is None or generation > known.generation
    if known is not None and generation == known.generation:
        is_as_told = known[:4] == (generation, turn, row.status, answer)
        is_further = (row.is_closed and not is_as_told) or (
            not known.is_final and turn > known.turn
        )
    if not rules.what_is_further_stays:
        is_further = True
    record = known._replace(token=token) if known and not is_further else None
    if record is None:
        losses = shard.losses_of(generation)
        record = Record(
            generation, turn, row.status, token, row.submission, row.body, losses=losses
        )
    if known and is_further and row.status == "scheduled":
        shard = shard.without((*known[:2], "turn"))
    if record.is_final:
        return Reply("RESTORED" if is_further else "KEPT", shard._replace(record=record))
    record = record._replace(ends=False)
    if rules.restored_leases_are_nobodys:
        record = record._replace(lease="alive", source=-1)
    if record.generation == generation and row.cancel_requested:
        record = record._replace(cancel_requested=True)
    restored = shard._replace(record=record)
    is_waiting = record.status in WAITING and row.status in WAITING
    if not rules.restored_leases_are_nobodys and row.status == "running":
        is_waiting = True
    if is_waiting and (record.generation, record.turn) == (generation, turn):
        restored = _owing(restored, row)
    return Reply("RESTORED" if is_further else "KEPT", restored)


def _owing(shard: Shard, row: Row) -> Shard:
    """Owe the turn that the ledger waits for, unless it is already owed."""
    generation, turn = row.waits_for
    envelope = Envelope(generation, turn, row.submission, row.body)
    return shard.owing(Entry(generation, turn, "turn", "later", (), envelope))
