"""Checks that no Kafka mapping can drop a record, and that its topic exists."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from infra.rules.template import FUNCTION, MAPPING, TOPIC, Template, is_worker, target

_EXPECTED: Mapping[str, Any] = {
    "FunctionResponseTypes": ["ReportBatchItemFailures"],
    "StartingPosition": "TRIM_HORIZON",
    "MaximumRetryAttempts": -1,
    "MaximumRecordAgeInSeconds": -1,
}
_FORBIDDEN = ("DestinationConfig", "BisectBatchOnFunctionError", "FilterCriteria")
_GROUP = "taskmill-"
_OFF_THE_LATENCY_PATH = "Recorder"
_COPIES = 3
_LIFE = 840  # seconds, the longest that a Kafka mapping allows
_RUNS_OF_A_POLLER = 5


def mappings_never_give_a_record_away(template: Template) -> Iterator[str]:
    for name, mapping in template.of(MAPPING):
        for what, expected in _EXPECTED.items():
            if mapping.get(what) != expected:
                yield f"{name} has {what} {mapping.get(what)!r}, not {expected!r}"
        for what in _FORBIDDEN:
            if what in mapping:
                yield f"{name} has {what}: a mapping must never drop a record"


def mappings_share_their_pollers(template: Template) -> Iterator[str]:
    groups = set()
    for name, mapping in template.of(MAPPING):
        pollers = mapping.get("ProvisionedPollerConfig") or {}
        groups.add(pollers.get("PollerGroupName"))
        if not pollers.get("PollerGroupName") or not pollers.get("MaximumPollers"):
            yield f"{name} has no poller group; alone it costs as much as all mappings in one group"
    if len(groups) > 1:
        yield f"the mappings use several poller groups: {', '.join(sorted(map(str, groups)))}"


def consumer_groups_are_ours(template: Template) -> Iterator[str]:
    groups = Counter(_group(mapping) for _, mapping in template.of(MAPPING))
    for group, times in groups.items():
        if not group.startswith(_GROUP):
            yield f"the consumer group {group!r} does not begin with {_GROUP!r}"
        if times > 1:
            yield f"the consumer group {group} has {times} mappings; each would lose records"


def windows_fit_the_path(template: Template) -> Iterator[str]:
    for name, mapping in template.of(MAPPING):
        window = mapping.get("MaximumBatchingWindowInSeconds")
        if target(mapping.get("FunctionName")) == _OFF_THE_LATENCY_PATH:
            if window is not None:
                yield f"{name} sets a batching window; the recorder uses the platform's default"
        elif window != 0:
            yield f"{name} sets the batching window {window}; on the latency path it must be 0"


def topics_are_made_with_their_workers(template: Template) -> Iterator[str]:
    topics = {topic["TopicName"]: topic for _, topic in template.of(TOPIC)}
    for name, mapping in template.of(MAPPING):
        function = template.properties(target(mapping.get("FunctionName")))
        (source,) = mapping.get("Topics") or [None]
        if is_worker(function) and source not in topics:
            yield f"{name} reads {source}, which no {TOPIC} creates"
        pollers = (mapping.get("ProvisionedPollerConfig") or {}).get("MaximumPollers", 0)
        if source in topics and pollers > topics[source]["PartitionCount"]:
            yield f"{name} has more pollers than {source} has partitions"
    for name, topic in template.of(TOPIC):
        if topic.get("ReplicationFactor") != _COPIES:
            yield f"{name} does not have {_COPIES} replicas"


def a_record_is_a_call(template: Template) -> Iterator[str]:
    """Let each record start a process, which serves many tasks as long as a mapping allows."""
    for name, mapping, function, _ in _of_workers(template):
        if mapping.get("BatchSize") != 1:
            yield f"{name} has a BatchSize other than 1: a batch holds all of its partitions"
        if function.get("Timeout") != _LIFE:
            yield f"{name} feeds a function with a Timeout other than {_LIFE}"


def each_partition_can_have_a_process(template: Template) -> Iterator[str]:
    for name, mapping, function, partitions in _of_workers(template):
        pollers = mapping.get("ProvisionedPollerConfig") or {}
        least, most = pollers.get("MinimumPollers", 1), pollers.get("MaximumPollers", 1)
        if least != most or least * _RUNS_OF_A_POLLER < partitions:
            yield (
                f"{name} has {least} to {most} pollers, which run {_RUNS_OF_A_POLLER} invocations"
                f" each, for {partitions} partitions"
            )
        if function.get("ReservedConcurrentExecutions", 0) < partitions:
            yield f"{name} feeds a function with less reserved concurrency than partitions"


def _of_workers(
    template: Template,
) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any], int]]:
    """Yield each mapping of a worker with its name, its function and its partitions."""
    topics = {topic["TopicName"]: topic for _, topic in template.of(TOPIC)}
    for name, mapping in template.of(MAPPING):
        function = template.properties(target(mapping.get("FunctionName")))
        (source,) = mapping.get("Topics") or [None]
        if is_worker(function) and source in topics:
            yield name, mapping, function, topics[source]["PartitionCount"]


def workers_are_fed(template: Template) -> Iterator[str]:
    targets = template.mapped()
    for name, function in template.of(FUNCTION):
        if is_worker(function) and name not in targets:
            yield f"{name} is a worker without a mapping"


def _group(mapping: Mapping[str, Any]) -> str:
    return str((mapping.get("AmazonManagedKafkaEventSourceConfig") or {}).get("ConsumerGroupId"))
