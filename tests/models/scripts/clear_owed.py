"""The step of `clear_owed.lua`."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Entry, Reply, Shard


@answers("COLD", "OTHER", "DONE")
def clear_owed(shard: Shard, rules: Rules, *, entry: Entry) -> Reply:
    if shard.is_cold:
        return Reply("COLD", shard)
    cleared = shard.without(entry.member)
    if not rules.entry_names_its_turn:
        cleared = shard._replace(
            due=frozenset(one for one in shard.due if one.generation != entry.generation)
        )
    if shard.record is None or shard.record.generation != entry.generation:
        return Reply("OTHER", cleared)
    return Reply("DONE", cleared)
