"""Every function skips any unusable record and reports it."""

import itertools
import random
from datetime import timedelta
from types import SimpleNamespace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taskmill.core import topics
from taskmill.core.log import LogRecord
from taskmill.dispatch.due import DuePublisher
from taskmill.dispatch.route import Dispatch
from taskmill.dispatch.work import Execution
from taskmill.execution.context import RunContext
from taskmill.execution.outcome import Succeeded
from taskmill.ledger.record import Recorder
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.stores.memory.log import MemoryLog
from taskmill.stores.memory.process import InlineExecutor, MemoryCounters
from tests.builders import ECHO, a_position, now_ms
from tests.records import TOPICS, headers, values

ANYTHING = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


_partitions = itertools.count()


def a_record(at, value, answer):
    return LogRecord(position=at, at_ms=now_ms(), value=value, headers=answer)


def lines_of(topic):
    """Return possible records of a topic, each with its position."""
    answer = st.lists(st.tuples(values, headers), min_size=1, max_size=3)
    return answer.map(lambda answer: standing_in(topic, next(_partitions), answer))


def standing_in(topic, partition, answer):
    places = (a_position(n, topic=topic, partition=partition) for n in range(len(answer)))
    return [a_record(at, *one) for at, one in zip(places, answer, strict=True)]


def a_run_context(hot, log):
    return RunContext(
        lanes=hot.lanes(),
        leases=hot.leases(),
        bus=log,
        counters=MemoryCounters(),
        executor=InlineExecutor(),
        clock=now_ms,
        chance=random.Random(1).random,
        process="p1",
        concurrency=10,
        longest=timedelta(seconds=800),
        remaining=lambda: timedelta(seconds=900),
    )


@ANYTHING
@given(st.sampled_from(TOPICS).flatmap(lines_of))
def test_the_recorder_gets_past_any_record(ledger, records):
    Recorder(SimpleNamespace(ledger=ledger.ledger)).record(records)
    at = records[0].position
    assert ledger.whole().applied()[at.topic, at.partition] == len(records)


ORIGIN = {"reason": b"r", "topic": b"tasks.events", "partition": b"3", "offset": b"7"}


def test_an_origin_that_cannot_be_is_no_reason_to_stop(ledger):
    origins = [
        ORIGIN | {name: octets}
        for name in ORIGIN
        for octets in (b"", b"\0", b"9" * 30, b"-1", b"\xff")
        if name != "reason"
    ]
    lines = standing_in(topics.DLQ, 0, [(b"never a task", answer) for answer in origins])
    for line in lines:
        Recorder(SimpleNamespace(ledger=ledger.ledger)).record([line])
    assert len(ledger.quarantine()) == len(lines)
    assert ledger.whole().applied() == {(topics.DLQ, 0): len(lines)}


class OnlyEcho(AssembledCatalogue):
    """A catalogue in which one type is deployed."""

    def entry(self, name):
        return super().entry(name) if name == ECHO else None


def stores_of(hot, log, **others):
    stores = {"bus": log, "catalogue": OnlyEcho(), "counters": MemoryCounters()}
    return SimpleNamespace(lanes=hot.lanes(), parking=hot.parking(), **stores, **others)


def publish_due(hot, log):
    DuePublisher(stores_of(hot, log, due=hot.due(), clock=now_ms)).publish()


@ANYTHING
@given(lines_of(topics.PENDING))
def test_the_dispatcher_gets_past_any_record(hot, records):
    log = MemoryLog(now_ms)
    stores = stores_of(hot, log, admission=hot.admission(), delays=hot.delays())
    assert Dispatch(stores).route(records, a_run_context(hot, log)) == set()
    publish_due(hot, log)


@ANYTHING
@given(lines_of(topics.worker(ECHO)))
def test_a_worker_gets_past_any_record(hot, records):
    log = MemoryLog(now_ms)
    execution = Execution(stores_of(hot, log))
    assert execution.run(records, lambda _: Succeeded("done"), a_run_context(hot, log)) == set()
    publish_due(hot, log)
