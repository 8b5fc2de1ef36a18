"""Counts and times what is sent to the log."""

import time
from collections.abc import Sequence
from typing import Any, Final

from taskmill.core.codec import Sealed
from taskmill.core.counting import Count, Span, topic_label
from taskmill.core.errors import StoreUnavailable, Unpublishable
from taskmill.core.log import LogRecord
from taskmill.core.ports import Counters
from taskmill.core.refusal import Refusal
from taskmill.core.task import Envelope
from taskmill.stores.counted.watchers import Call, Watcher, Watchers, tally


def _sending(call: Call, counters: Counters) -> Call:
    """Count what fails: for a missing or barred topic, sending already fails."""

    def watched(*sent: Any) -> Any:
        try:
            return call(*sent)
        except (StoreUnavailable, Unpublishable):
            counters.count(Count.PUBLISH_FAILURES)
            raise

    return watched


def _flushing(call: Call, counters: Counters) -> Call:
    flush = _sending(call, counters)

    def watched() -> None:
        began = time.monotonic()
        flush()
        counters.time(Span.PUBLISH, time.monotonic() - began)

    return watched


def _dispatched(counters: Counters, envelopes: Sequence[Envelope | Sealed]) -> None:
    for task_type, tasks in tally(envelope.type for envelope in envelopes):
        counters.count(Count.DISPATCHED, tasks, type=task_type)


def _undecodable(counters: Counters, record: LogRecord, _reason: str) -> None:
    counters.count(Count.UNDECODABLE, topic=topic_label(record.position.topic))


def _refused(counters: Counters, _record: LogRecord, refusal: Refusal) -> None:
    counters.count(Count.REFUSALS, reason=refusal.code)


def _then(count: Any) -> Watcher:
    """Make a watcher that counts what was sent without a failure."""

    def watcher(call: Call, counters: Counters) -> Call:
        send = _sending(call, counters)

        def watched(*sent: Any) -> None:
            send(*sent)
            count(counters, *sent)

        return watched

    return watcher


BUS: Final[Watchers] = {
    "send_pending": _sending,
    "send_work": _then(_dispatched),
    "send_facts": _sending,
    "send_parcel": _sending,
    "send_undecodable": _then(_undecodable),
    "send_refused": _then(_refused),
    "flush": _flushing,
}
