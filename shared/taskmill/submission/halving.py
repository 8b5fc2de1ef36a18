"""Publishes many records at once, and isolates one that the log refuses so that the others flow."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from taskmill.core.errors import Unpublishable

T = TypeVar("T")


def publish_in_halves(
    members: Sequence[T], publish: Callable[[Sequence[T]], None]
) -> Iterator[tuple[Sequence[T], Unpublishable | None]]:
    """Yield what is in the log by now, and each refused record with the reason."""
    if not members:
        return
    try:
        publish(members)
    except Unpublishable as error:
        if len(members) == 1:
            yield members, error
            return
        middle = len(members) // 2
        yield from publish_in_halves(members[:middle], publish)
        yield from publish_in_halves(members[middle:], publish)
    else:
        yield members, None
