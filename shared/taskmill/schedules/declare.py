"""Makes the managed schedules of a ledger those that the types' folders declare."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from taskmill.core.errors import ScheduleBroken
from taskmill.core.refusal import Refusal
from taskmill.core.task import Millis
from taskmill.schedules.manage import Restless, delete, put
from taskmill.schedules.ports import Schedules
from taskmill.schedules.read import Wanted, read_new
from taskmill.schedules.schedule import Schedule
from taskmill.submission.ports import Catalogue

DEPLOYMENT = "deployment"
"""Who pauses a schedule that its folder declares as paused."""
_PAGE = 200


class Declared(Struct, frozen=True, kw_only=True):
    """What was done to which names; done again, nothing is."""

    made: Sequence[str]
    changed: Sequence[str]
    deleted: Sequence[str]


def declare(declared: Sequence[Wanted], schedules: Schedules, *, tenant: str) -> Declared:
    """Make, change and delete; one of that name that people made is managed from now on."""
    known = {one.name: one for one in all_schedules(schedules, tenant)}
    names = {one.name for one in declared}
    made = [one for one in declared if one.name not in known]
    changed = [one for one in declared if one.name in known and _differs(one, known[one.name])]
    gone = [one.name for one in known.values() if one.is_managed and one.name not in names]
    for one in (*made, *changed):
        _insist(put(one, schedules, tenant=tenant, by=DEPLOYMENT, is_managed=True), one.name)
    for name in gone:
        _insist(delete(name, schedules, tenant=tenant, is_managed=True), name)
    return Declared(
        made=[one.name for one in made], changed=[one.name for one in changed], deleted=gone
    )


def all_schedules(schedules: Schedules, tenant: str) -> Iterator[Schedule]:
    """Yield every schedule in the order of the names."""
    after = ""
    while page := schedules.page(tenant, after=after, limit=_PAGE):
        yield from page
        after = page[-1].name


def misfits(
    schedules: Schedules, catalogue: Catalogue, *, tenant: str, now: Millis
) -> Iterator[tuple[Schedule, Refusal]]:
    """Yield the schedules that would be refused today, as when a type was changed, and why."""
    for one in all_schedules(schedules, tenant):
        told = msgspec.json.decode(msgspec.json.encode(one.definition))
        given = {name: value for name, value in told.items() if value is not None}
        read = read_new({"name": one.name, **given}, catalogue, now=now)
        if isinstance(read, Refusal):
            yield one, read


def _differs(wanted: Wanted, known: Schedule) -> bool:
    is_wanted = wanted.enabled in {None, known.paused is None}
    return not (known.is_managed and is_wanted and known.definition == wanted.definition)


def _insist(answer: object, name: str) -> None:
    if isinstance(answer, Restless):
        raise ScheduleBroken(f"the schedule {name} kept changing while it was being declared")
