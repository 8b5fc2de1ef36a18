"""The place of a task among those that wait in the same line."""

from taskmill.core.task import Envelope, Millis
from taskmill.core.time import due_of, said_ms

_LAST = 9_999_999_999_999
"""The last millisecond with 13 digits, in the year 2286: all orders have the same length."""


def order_of(envelope: Envelope) -> int:
    """Return the order of *envelope*: the smaller starts first; retries keep it."""
    return order_ms(envelope) * 1000 + envelope.index


def order_ms(envelope: Envelope) -> Millis:
    """Return the time from which it counts as waiting.

    That is when it was submitted, or for what it waits: the time that was asked for, or the end of
    a snooze.
    """
    return Millis(min(_waits_since(envelope), _LAST))


def _waits_since(envelope: Envelope) -> int:
    if envelope.order_ms is not None:
        return envelope.order_ms
    due = due_of(envelope)
    if due is not None and due > said_ms(envelope):
        return due
    return envelope.submitted or envelope.generation or envelope.created_at_ms
