"""The step of `look_later.lua`."""

from tests.models.lanes.lane import FRESH, Lane, LaneReply, Member
from tests.models.rules import Rules
from tests.models.scripts.answers import answers


@answers("COLD", "DONE")
def look_later(lane: Lane, _rules: Rules, *, member: Member, look: int) -> LaneReply:
    """Give it another look, if it still has the one that was seen."""
    if lane.is_cold:
        return LaneReply("COLD", lane)
    if lane.look_of(member) != look:
        return LaneReply("DONE", lane)
    return LaneReply("DONE", lane.with_look(member, FRESH))
