"""What the tests of lanes say to a lane."""

from datetime import timedelta

from taskmill.core import codec
from taskmill.core.codec import RawEnvelope
from taskmill.core.task import Millis, TaskType
from taskmill.core.time import in_ms
from taskmill.lanes.lane import Leave, LookLater, PutBack, Take, TakeAnswer, member_of
from tests.builders import ECHO, a_fresh_envelope, now_ms

HOUR = timedelta(hours=1)
A_WHILE = timedelta(seconds=50)
"""A time that does not come during a test, and that the rules of a lane allow."""

NO_TIME = timedelta()
BEFORE = timedelta(seconds=-1)
"""A look after this long has come already."""

EMAIL = TaskType("email")


def tasks(count, /, *, ago=NO_TIME, **changes):
    """Return tasks in their order; a change may depend on the place."""
    since = now_ms() - in_ms(ago)
    return [_task(since, place, changes) for place in range(count)]


def a_task(**changes):
    (task,) = tasks(1, **changes)
    return task


def _task(since, place, changes):
    at_ms = Millis(since + place // 1000)
    told = {name: one(place) if callable(one) else one for name, one in changes.items()}
    when = {"generation": at_ms, "created_at_ms": at_ms, "index": place % 1000}
    envelope = a_fresh_envelope(**when | told)
    return RawEnvelope(envelope, codec.encode(envelope))


def take(lanes, most=1, /, **how):
    """Take, and return the answer, which must be one of a live lane."""
    answer = lanes.take(Take(**{"type": ECHO, "most": most} | how))
    assert isinstance(answer, TakeAnswer), answer
    return answer


def members(taken):
    return [one.member for one in taken.tasks]


def members_of(waiting):
    return [member_of(one.envelope) for one in waiting]


def until_empty(lanes, most=1, /, *, count=100_000, **how):
    """Take until nothing is left, or *count* tasks came, and return the members as they came."""
    came = []
    while len(came) < count and (taken := members(take(lanes, most, **how))):
        came += taken
    return came


def envelopes_of(came, waiting):
    by_member = {member_of(one.envelope): one.envelope for one in waiting}
    return [by_member[one] for one in came]


def leaves(taken):
    return tuple(Leave(one.member, taken.epoch) for one in taken.tasks)


def back(taken, **how):
    return [
        PutBack(**{"type": ECHO, "member": one.member, "look": one.look} | how)
        for one in taken.tasks
    ]


def later(taken, after, **how):
    return [
        LookLater(**{"type": ECHO, "member": one.member, "look": one.look, "after": after} | how)
        for one in taken.tasks
    ]
