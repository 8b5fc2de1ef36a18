"""Printed metrics are removed from logs and exposed to Prometheus."""

import json
from datetime import timedelta

import pytest

from taskmill.core.counting import TABLE, Count, Gauge, Span
from taskmill.platform.emf import EmfCounters
from taskmill_local.lambdas.pool import PoolSnapshot
from taskmill_local.mappings.snapshot import MappingSnapshot
from taskmill_local.metrics.exposition import Family, exposition
from taskmill_local.metrics.meter import Meter
from taskmill_local.metrics.page import metrics_page
from tests.prometheus import parse


@pytest.fixture
def meter():
    return Meter({"echo"})


@pytest.fixture
def counters(meter):
    def write(line):
        assert meter.take(line)

    return EmfCounters(namespace="taskmill", types={"echo"}, clock=lambda: 1, write=write)


def read(meter, functions=None, mappings=None):
    return parse(metrics_page(meter, functions or {}, mappings or {}).decode())


def sample(samples, name, **labels):
    return samples[name, frozenset(labels.items())]


def test_what_several_processes_count_adds_up(meter, counters):
    for _ in range(3):
        counters.count(Count.CLAIMS, 2, type="echo", answer="claimed")
        counters.count(Count.CLAIMS, type="echo", answer="held")
        counters.flush()
    kinds, samples = read(meter)
    assert kinds["taskmill_claims_total"] == "counter"
    assert sample(samples, "taskmill_claims_total", type="echo", answer="claimed") == 6
    assert sample(samples, "taskmill_claims_total", type="echo", answer="held") == 3


def test_times_become_a_histogram(meter, counters):
    for seconds in (0.004, 0.02, 0.025, 7.0, 1000.0):
        counters.time(Span.WAIT, seconds, type="echo")
    counters.flush()
    kinds, samples = read(meter)
    name = "taskmill_wait_seconds"
    assert kinds[name] == "histogram"
    below = {
        bound: sample(samples, f"{name}_bucket", type="echo", le=bound)
        for bound in ("0.005", "0.01", "0.025", "5", "10", "300", "+Inf")
    }
    assert below == {"0.005": 1, "0.01": 1, "0.025": 3, "5": 3, "10": 4, "300": 4, "+Inf": 5}
    assert sample(samples, f"{name}_count", type="echo") == 5
    assert sample(samples, f"{name}_sum", type="echo") == pytest.approx(1007.049)


def test_a_gauge_is_replaced_and_forgotten_when_nobody_repeats_it():
    now = 0.0
    meter = Meter({"echo"}, now=lambda: now)
    counters = EmfCounters(namespace="taskmill", types={"echo"}, clock=lambda: 1, write=meter.take)
    for waiting in (7, 3):
        counters.measure(Gauge.WAITING, waiting, type="echo", priority="high")
        counters.measure(Gauge.OLDEST_WAIT, waiting - 2.5, type="echo")
        counters.measure(Gauge.IN_FLIGHT, 0, type="echo")
        counters.flush()
    kinds, samples = read(meter)
    assert kinds["taskmill_waiting"] == "gauge"
    assert sample(samples, "taskmill_waiting", type="echo", priority="high") == 3
    assert sample(samples, "taskmill_oldest_wait_seconds", type="echo") == 0.5
    now = 31.0
    _, samples = read(meter)
    left = {name for name, _ in samples if name in set(Gauge)}
    assert left == {"taskmill_in_flight"}, "0 stays true until something is reported"


def test_everything_in_the_table_is_told_of_before_it_happens(meter):
    kinds, samples = read(meter)
    assert set(TABLE) <= set(kinds)
    assert sample(samples, "taskmill_records_forgotten_total") == 0


@pytest.mark.parametrize(
    "line",
    [
        b"plain words",
        b'{"level":"INFO","message":"a log line"}',
        b'{"_aws":',
        b'{"_aws":{}}',
        b'{"_aws":' + b"[" * 100_000,
        b'{"_aws":{"CloudWatchMetrics":[{"Metrics":[{"Name":"mine"}]}]},"mine":1}',
    ],
)
def test_what_is_not_ours_stays_in_the_log(meter, line):
    assert not meter.take(line)


@pytest.mark.parametrize("value", ["1", -1, None, [1], float("nan"), float("inf"), {}])
def test_a_figure_that_is_none_changes_nothing(meter, value):
    names = [{"Name": Count.FORGOTTEN}, {"Name": Count.LEASES_LOST}]
    line = {
        "_aws": {"CloudWatchMetrics": [{"Metrics": names}]},
        Count.FORGOTTEN: 1,
        Count.LEASES_LOST: value,
    }
    assert not meter.take(json.dumps(line).encode())
    _, samples = read(meter)
    assert sample(samples, "taskmill_records_forgotten_total") == 0


def test_a_forged_label_makes_no_series(meter):
    for number in range(1000):
        line = {
            "_aws": {"CloudWatchMetrics": [{"Metrics": [{"Name": Count.LOSSES}]}]},
            "type": f"type {number}",
            Count.LOSSES: 1,
        }
        assert meter.take(json.dumps(line).encode())
    _, samples = read(meter)
    assert sample(samples, "taskmill_losses_total", type="other") == 1000
    assert sum(name == "taskmill_losses_total" for name, _ in samples) == 1


def test_labels_and_helps_are_escaped():
    word = 'a "quoted" \\ word\nof two lines, {braced} = true'
    family = Family(name="x", about=word, kind="gauge", samples=[("", (("label", word),), 1.5)])
    text = exposition([family]).decode()
    _, samples = parse(text)
    assert samples == {("x", frozenset({("label", word)})): 1.5}


def test_the_platform_tells_what_it_sees(meter):
    pool = PoolSnapshot(
        environments=3,
        busy=2,
        queued=1,
        invocations=40,
        errors=4,
        cold_starts=5,
        throttles=6,
        pids=(),
    )
    mapping = MappingSnapshot(
        function="EchoWorker",
        topic="tasks.worker.echo",
        lag={0: 3, 1: 4},
        waiting=1,
        in_flight=2,
        batches=10,
        records=90,
        failures=1,
        last_error=None,
        backing_off={0: timedelta()},
    )
    kinds, samples = read(meter, {"EchoWorker": pool}, {"EchoWorkerTasks": mapping})
    result = {"function": "EchoWorker"}
    assert sample(samples, "taskmill_function_invocations_total", **result) == 40
    assert sample(samples, "taskmill_function_errors_total", **result) == 4
    assert sample(samples, "taskmill_function_cold_starts_total", **result) == 5
    assert sample(samples, "taskmill_function_throttles_total", **result) == 6
    assert sample(samples, "taskmill_function_in_flight", **result) == 2
    place = result | {"topic": "tasks.worker.echo"}
    assert sample(samples, "taskmill_mapping_lag", **place) == 7
    assert sample(samples, "taskmill_mapping_failures_total", **place) == 1
    assert kinds["taskmill_mapping_lag"] == "gauge"
