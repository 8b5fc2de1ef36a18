"""The step of `clear_owed.lua`."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Entry, Reply, Shard


@answers("COLD", "LATE", "OTHER", "DONE")
def clear_owed(shard: Shard, rules: Rules, *, entry: Entry, hold: int | None = None) -> Reply:
    """*hold* is the caller's, under which it published; None clears whoever holds it."""
    if shard.is_cold:
        return Reply("COLD", shard)
    known = shard.entry(entry.member)
    is_held = known is not None and known.when == f"held {hold}"
    if hold is not None and not is_held and _compares(entry, rules):
        return Reply("LATE", shard)
    cleared = shard.without(entry.member)
    if not rules.entry_names_its_turn:
        cleared = shard._replace(
            due=frozenset(one for one in shard.due if one.generation != entry.generation)
        )
    if shard.record is None or shard.record.generation != entry.generation:
        return Reply("OTHER", cleared)
    return Reply("DONE", cleared)


def _compares(entry: Entry, rules: Rules) -> bool:
    if entry.kind == "turn":
        return rules.clearing_compares_its_hold
    return entry.kind == "facts" and rules.clearing_compares_what_it_told
