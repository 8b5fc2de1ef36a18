"""The step of `take_tasks.lua`: what ended, what leaves, and at most one member that is taken."""

from tests.models.lanes.lane import Flight, Lane, LaneReply, Member
from tests.models.rules import Rules
from tests.models.scripts.answers import answers


@answers("COLD", "TAKEN", "NOTHING")
def take_tasks(  # noqa: PLR0913 - one step, with all that its caller brings
    lane: Lane,
    rules: Rules,
    *,
    epoch: int = 0,
    ended: Member | None = None,
    leaving: Member | None = None,
    picked: Member | None = None,
    window: int = 0,
    is_idle: bool = True,
) -> LaneReply:
    """Take *picked*, which may be any that waits; *epoch* was known when records were asked.

    A process that is *idle* runs nothing.
    """
    if lane.is_cold:
        return LaneReply("COLD", lane)
    if epoch == lane.epoch or not rules.reports_name_their_epoch:
        for member in _meant(lane, rules, ended):
            lane = _freed(lane, rules, member)
        for member in _meant(lane, rules, leaving):
            lane = _freed(lane, rules, member).without(member)
    if picked is None or picked not in lane.line or lane.is_paused or lane.used >= window:
        return LaneReply("NOTHING", lane)
    if picked in lane.suspects and not is_idle:
        return LaneReply("NOTHING", lane)
    taken = lane._replace(
        line=lane.line - {picked},
        suspects=lane.suspects - {picked},
        flight=lane.flight | {Flight(picked)},
        places=lane.places | {picked},
    )
    return LaneReply("TAKEN", taken)


def _meant(lane: Lane, rules: Rules, member: Member | None) -> tuple[Member, ...]:
    if member is None or rules.a_member_is_a_turn:
        return () if member is None else (member,)
    known = (*lane.line, *(one.member for one in lane.flight))
    return tuple(one for one in known if one.task == member.task)


def _freed(lane: Lane, rules: Rules, member: Member) -> Lane:
    if rules.places_belong_to_members:
        return lane._replace(places=lane.places - {member})
    is_in_flight = lane.look_of(member) is not None
    held = member in lane.places
    wrong = lane.miscounted + (is_in_flight and not held)
    return lane._replace(places=lane.places - {member}, miscounted=wrong)
