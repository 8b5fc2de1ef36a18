"""The step of `settle_turn.lua`."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Entry, Envelope, Fact, Record, Reply, Shard


@answers("COLD", "SETTLED", "STALE", "CANCEL", unreadable="COLD")
def settle_turn(  # noqa: C901, PLR0913 - one step, in the order of the script
    shard: Shard,
    rules: Rules,
    *,
    envelope: Envelope,
    token: int,
    status: str,
    facts: tuple[Fact, ...],
) -> Reply:
    if shard.is_cold:
        return Reply("COLD", shard)
    record, turn = shard.record, envelope.turn
    if record is None:
        if envelope.generation <= shard.old:
            return Reply("STALE", shard)
        record = Record(
            envelope.generation, turn, submission=envelope.submission, body=envelope.body
        )
    elif rules.settle_compares:
        if record.generation != envelope.generation:
            return Reply("STALE", shard)
        if record.settled == (turn, token):
            return Reply("SETTLED", shard, facts=record.last)
        if (record.is_final or record.turn != turn) and rules.settle_compares_the_turn:
            return Reply("STALE", shard)
        if token < record.token and rules.settle_compares_the_token:
            return Reply("STALE", shard)
    hears = record.cancel_requested and rules.settle_hears_the_cancel
    if hears and status not in ("succeeded", "cancelled"):
        return Reply("CANCEL", shard)
    settled = record._replace(
        status=status,
        token=token,
        turn=turn,
        settled=(turn, token),
        last=facts,
        lease="",
        source=-1,
    )
    if status != "retrying":
        return Reply("SETTLED", shard._replace(record=settled), facts=facts)
    following = turn + 1 if rules.turns_order_a_life else turn
    entry = Entry(
        envelope.generation,
        following,
        "turn",
        "later",
        facts if rules.next_turn_carries_facts else (),
        envelope._replace(turn=following),
    )
    settled = settled._replace(turn=following)
    return Reply("SETTLED", shard._replace(record=settled).with_entry(entry), facts=facts)
