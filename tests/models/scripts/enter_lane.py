"""The step of `enter_lane.lua`, for one member."""

from tests.models.lanes.lane import Lane, LaneReply, Member
from tests.models.rules import Rules
from tests.models.scripts.answers import answers


@answers("COLD", "WAITS", "SHELVED")
def enter_lane(
    lane: Lane, rules: Rules, *, member: Member, cap: int = 9, from_shelf: bool = False
) -> LaneReply:
    """*cap* is how many members the line holds; what comes *from the shelf* passes it."""
    if lane.is_cold:
        return LaneReply("COLD", lane)
    if member in lane.line or lane.look_of(member) is not None:
        return LaneReply("WAITS", lane)
    entered = lane._replace(line=lane.line | {member})
    if from_shelf:
        is_last = lane.shelf <= member.task and rules.the_last_row_closes_the_shelf
        return LaneReply("WAITS", entered._replace(shelf=-1) if is_last else entered)
    follows = lane.shelf >= 0 and rules.newcomers_follow_the_shelf
    if follows or len(lane.line) >= cap:
        return LaneReply("SHELVED", lane._replace(shelf=max(lane.shelf, member.task)))
    return LaneReply("WAITS", entered)
