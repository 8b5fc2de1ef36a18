"""The step of `take_due.lua`."""

from tests.models.rules import Rules
from tests.models.scripts.answers import answers
from tests.models.shard import Reply, Shard


@answers("COLD", "")
def take_due(shard: Shard, rules: Rules, *, hold: int = 0) -> Reply:
    """*hold* names the taker's hold on what it takes."""
    if shard.is_cold:
        return Reply("COLD", shard)
    taken = tuple(sorted(entry for entry in shard.due if entry.when == "due"))
    rest = shard
    for entry in taken:
        if not rules.entries_are_held:
            rest = rest.without(entry.member)
        elif rules.taking_holds_it_alone:
            rest = rest.with_entry(entry._replace(when=f"held {hold}"))
    return Reply("", rest, entries=taken)
