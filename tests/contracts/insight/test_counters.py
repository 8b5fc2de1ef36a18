"""Counters add up the same in memory and in CloudWatch lines."""

import json
from collections import Counter

import pytest

from taskmill.core.counting import TABLE, Count, Gauge, Span
from taskmill.platform.emf import EmfCounters
from taskmill.stores.memory.process import MemoryCounters

TYPES = {"echo", "mail"}
AT = 1_800_000_000_000


class InMemory:
    def __init__(self):
        self.counters = MemoryCounters(TYPES)
        self.total = self.counters.total
        self.times = self.counters.times
        self.value = self.counters.value


class InLines:
    """Reads the lines as CloudWatch does: a metric's labels are the members that it names."""

    def __init__(self):
        self.lines = []
        self.counters = EmfCounters(
            namespace="here", types=TYPES, clock=lambda: AT, write=self.lines.append
        )

    def total(self, what, **labels):
        return sum(self._told(what, labels))

    def times(self, what, **labels):
        return [second for result in self._told(what, labels) for second in result]

    def value(self, what, **labels):
        return next(reversed(list(self._told(what, labels))), None)

    def _told(self, what, labels):
        self.counters.flush()
        for text in self.lines:
            line = json.loads(text)
            for directive in line["_aws"]["CloudWatchMetrics"]:
                names = {metric["Name"] for metric in directive["Metrics"]}
                result = {name: line[name] for name in directive["Dimensions"][0]}
                if what in names and labels.items() <= result.items():
                    yield line[what]


@pytest.fixture(params=[InMemory, InLines])
def kept(request):
    return request.param()


def test_counts_with_the_same_labels_add_up(kept):
    kept.counters.count(Count.CLAIMS, type="echo", answer="claimed")
    kept.counters.count(Count.CLAIMS, 4, type="echo", answer="claimed")
    kept.counters.count(Count.CLAIMS, type="echo", answer="held")
    kept.counters.count(Count.CLAIMS, type="mail", answer="claimed")
    assert kept.total(Count.CLAIMS, type="echo", answer="claimed") == 5
    assert kept.total(Count.CLAIMS, type="echo") == 6
    assert kept.total(Count.CLAIMS) == 7
    assert kept.total(Count.LOSSES) == 0


def test_counts_add_up_over_several_flushes(kept):
    kept.counters.count(Count.FORGOTTEN, 2)
    kept.counters.flush()
    kept.counters.count(Count.FORGOTTEN, 3)
    kept.counters.flush()
    assert kept.total(Count.FORGOTTEN) == 5


def test_of_a_gauge_the_latest_value_counts(kept):
    assert kept.value(Gauge.IN_FLIGHT, type="echo") is None
    kept.counters.measure(Gauge.IN_FLIGHT, 4, type="mail")
    for value in (7, 3, 0):
        kept.counters.measure(Gauge.IN_FLIGHT, value, type="echo")
    assert kept.value(Gauge.IN_FLIGHT, type="echo") == 0
    assert kept.value(Gauge.IN_FLIGHT, type="mail") == 4


def test_each_time_is_kept(kept):
    times = [number / 1000 for number in range(250)]
    for seconds in times:
        kept.counters.time(Span.WAIT, seconds, type="echo")
    kept.counters.time(Span.WAIT, 9.0, type="mail")
    assert sorted(kept.times(Span.WAIT, type="echo")) == times


def test_a_hundred_thousand_types_are_one_more_value(kept):
    for number in range(100_000):
        kept.counters.count(Count.LOSSES, type=f"type {number}")
    assert kept.total(Count.LOSSES, type="other") == 100_000
    kept.counters.count(Count.REFUSALS, reason="a reason of tomorrow")
    assert kept.total(Count.REFUSALS, reason="other") == 1


def test_every_measure_of_the_table_can_be_counted(kept):
    expected = Counter()
    for what, measure in TABLE.items():
        for name, values in measure.labels.items():
            for value in TYPES if values is None else values:
                labels = dict.fromkeys(measure.labels, "other") | {name: value}
                if isinstance(what, Count):
                    kept.counters.count(what, **labels)
                    expected[what, name, value] += 1
    for (what, name, value), result in expected.items():
        assert kept.total(what, **{name: value}) == result
