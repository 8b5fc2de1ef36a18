"""What is sent to the log, counted and timed."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from taskmill.core.codec import Sealed
from taskmill.core.counting import Count, Span, topic_label
from taskmill.core.errors import StoreUnavailable, Unpublishable
from taskmill.core.facts import Fact
from taskmill.core.log import LogRecord
from taskmill.core.ports import Bus, Counters
from taskmill.core.refusal import Refusal
from taskmill.core.task import Envelope

W = TypeVar("W", str, tuple[str, str])


class CountedBus:
    def __init__(self, bus: Bus, counters: Counters) -> None:
        self._bus = bus
        self._counters = counters

    def is_shut(self) -> bool:
        return self._bus.is_shut()

    def is_in_doubt(self) -> bool:
        return self._bus.is_in_doubt()

    def answers(self) -> bool:
        return self._bus.answers()

    def send_pending(self, envelopes: Sequence[Envelope | Sealed]) -> None:
        with self._failures():
            self._bus.send_pending(envelopes)

    def send_work(self, envelopes: Sequence[Envelope | Sealed]) -> None:
        with self._failures():
            self._bus.send_work(envelopes)
        for task_type, tasks in tally(envelope.type for envelope in envelopes):
            self._counters.count(Count.DISPATCHED, tasks, type=task_type)

    def send_facts(self, facts: Sequence[Fact]) -> None:
        with self._failures():
            self._bus.send_facts(facts)

    def send_parcel(self, topic: str, value: bytes) -> None:
        with self._failures():
            self._bus.send_parcel(topic, value)

    def send_undecodable(self, record: LogRecord, reason: str) -> None:
        with self._failures():
            self._bus.send_undecodable(record, reason)
        self._counters.count(Count.UNDECODABLE, topic=topic_label(record.position.topic))

    def send_refused(self, record: LogRecord, refusal: Refusal) -> None:
        with self._failures():
            self._bus.send_refused(record, refusal)
        self._counters.count(Count.REFUSALS, reason=refusal.code)

    def flush(self) -> None:
        began = time.monotonic()
        with self._failures():
            self._bus.flush()
        self._counters.time(Span.PUBLISH, time.monotonic() - began)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Count what fails: a topic that is missing or barred is told of by the sending already."""
        try:
            yield
        except (StoreUnavailable, Unpublishable):
            self._counters.count(Count.PUBLISH_FAILURES)
            raise


def tally(words: Iterable[W]) -> Iterable[tuple[W, int]]:
    return Counter(words).items()
