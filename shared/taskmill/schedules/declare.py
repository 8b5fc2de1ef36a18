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
    new = [one for one in declared if one.name not in known]
    changed = [one for one in declared if one.name in known and _differs(one, known[one.name])]
    obsolete = [one.name for one in known.values() if one.is_managed and one.name not in names]
    for one in (*new, *changed):
        _insist(put(one, schedules, tenant=tenant, by=DEPLOYMENT, is_managed=True), one.name)
    for name in obsolete:
        _insist(delete(name, schedules, tenant=tenant, is_managed=True), name)
    return Declared(
        made=[one.name for one in new], changed=[one.name for one in changed], deleted=obsolete
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
        definition = msgspec.json.decode(msgspec.json.encode(one.definition))
        fields = {name: value for name, value in definition.items() if value is not None}
        request = read_new({"name": one.name, **fields}, catalogue, now=now)
        if isinstance(request, Refusal):
            yield one, request


def _differs(request: WantedSchedule, known: Schedule) -> bool:
    is_state_same = request.enabled in {None, known.paused is None}
    return not (known.is_managed and is_state_same and known.definition == request.definition)


def _insist(answer: object, name: str) -> None:
    if isinstance(answer, Contended):
        raise ScheduleBroken(f"the schedule {name} kept changing while it was being declared")
