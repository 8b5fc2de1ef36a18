"""The step of `withdraw_tasks.lua`, for one member: it touches only what waits."""

from tests.models.lanes.lane import Lane, LaneReply, Member
from tests.models.rules import Rules
from tests.models.scripts.answers import answers


@answers("COLD", "DONE", "OTHER")
def withdraw_tasks(lane: Lane, rules: Rules, *, member: Member, epoch: int) -> LaneReply:
    if lane.is_cold:
        return LaneReply("COLD", lane)
    if epoch != lane.epoch and rules.reports_name_their_epoch:
        return LaneReply("OTHER", lane)
    return LaneReply("DONE", lane._replace(line=lane.line - {member}))
