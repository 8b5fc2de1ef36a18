"""The step of `watch_lane.lua`, for one member whose look has come."""

from tests.models.lanes.lane import Lane, LaneReply, Member
from tests.models.rules import Rules
from tests.models.scripts.answers import answers


@answers("COLD", "LOOK")
def watch_lane(lane: Lane, _rules: Rules, *, member: Member, look: int) -> LaneReply:
    """*look* is its next one."""
    if lane.is_cold:
        return LaneReply("COLD", lane)
    return LaneReply("LOOK", lane.with_look(member, look))
