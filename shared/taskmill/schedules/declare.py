"""Brings the ledger's managed schedules in line with those declared in the types' folders."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from taskmill.core.errors import ScheduleBroken
from taskmill.core.refusal import Refusal
from taskmill.core.task import Millis
from taskmill.schedules.manage import Contended, delete, put
from taskmill.schedules.ports import Schedules
from taskmill.schedules.read import WantedSchedule, read_new
from taskmill.schedules.schedule import Schedule
from taskmill.submission.ports import Catalogue

DEPLOYMENT = "deployment"
"""Shown as the author of a pause that the folder declares."""
_PAGE = 200


class Declared(Struct, frozen=True, kw_only=True):
    """The changes made, by name; a second run makes none."""

    made: Sequence[str]
    changed: Sequence[str]
    deleted: Sequence[str]


def declare(declared: Sequence[WantedSchedule], schedules: Schedules, *, tenant: str) -> Declared:
    """Create, change and delete; an existing schedule of that name becomes managed."""
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
    """Yield every schedule, sorted by name."""
    after = ""
    while page := schedules.page(tenant, after=after, limit=_PAGE):
        yield from page
        after = page[-1].name


def misfits(
    schedules: Schedules, catalogue: Catalogue, *, tenant: str, now: Millis
) -> Iterator[tuple[Schedule, Refusal]]:
    """Yield the schedules that would be refused today, with the reason, such as a changed type."""
    for one in all_schedules(schedules, tenant):
        result = msgspec.json.decode(msgspec.json.encode(one.definition))
        given = {name: value for name, value in result.items() if value is not None}
        read = read_new({"name": one.name, **given}, catalogue, now=now)
        if isinstance(read, Refusal):
            yield one, read


def _differs(wanted: WantedSchedule, known: Schedule) -> bool:
    is_wanted = wanted.enabled in {None, known.paused is None}
    return not (known.is_managed and is_wanted and known.definition == wanted.definition)


def _insist(answer: object, name: str) -> None:
    if isinstance(answer, Contended):
        raise ScheduleBroken(f"the schedule {name} kept changing while it was being declared")
