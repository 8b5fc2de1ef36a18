"""The step of `put_back.lua`: from flight into its line, if it is as it was seen."""

from tests.models.lanes.lane import Lane, LaneReply, Member
from tests.models.rules import Rules
from tests.models.scripts.answers import answers


@answers("COLD", "WAITS", "OTHER")
def put_back(
    lane: Lane, rules: Rules, *, member: Member, look: int, alone: bool = False
) -> LaneReply:
    """*alone* says that it runs beside no other, for it had losses in company."""
    if lane.is_cold:
        return LaneReply("COLD", lane)
    present = lane.look_of(member)
    if present is None or (present != look and rules.put_back_compares_the_look):
        return LaneReply("OTHER", lane)
    if member not in lane.places and not rules.put_back_overrules_an_end:
        return LaneReply("OTHER", lane)
    places = lane.places - {member} if rules.put_back_frees_the_place else lane.places
    suspects = lane.suspects | {member} if alone else lane.suspects
    line, flight = lane.line | {member}, lane.landed(member)
    waits = lane._replace(line=line, suspects=suspects, flight=flight, places=places)
    return LaneReply("WAITS", waits)
