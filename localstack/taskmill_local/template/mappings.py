"""Reads the Kafka event-source mappings of the template."""

from datetime import timedelta

from taskmill_local.plan import MappingPlan
from taskmill_local.template.resource import Resource

_CONFIGS = ("AmazonManagedKafkaEventSourceConfig", "SelfManagedKafkaEventSourceConfig")
_THE_CLUSTER = "arn:aws:kafka:us-east-1:000000000000:cluster/local/0"
_RUNS_OF_A_POLLER = 5
_POLLERS = frozenset({"MaximumPollers", "MinimumPollers", "PollerGroupName"})
# How long Kafka mappings wait for a fuller batch when the template sets no window.
_DEFAULT_WINDOW = timedelta(milliseconds=500)


def mapping_plan(resource: Resource) -> MappingPlan:
    # The only record handling that we test: none is ever dropped or sent elsewhere.
    resource.expect("StartingPosition", "TRIM_HORIZON", default=None)
    resource.expect("FunctionResponseTypes", ["ReportBatchItemFailures"], default=None)
    resource.expect("MaximumRetryAttempts", -1, default=-1)
    resource.expect("MaximumRecordAgeInSeconds", -1, default=-1)
    resource.expect("Enabled", True, default=True)  # noqa: FBT003 - the template's value
    return MappingPlan(
        name=resource.name,
        function=resource.function("FunctionName", resource.properties.get("FunctionName")),
        topic=_topic(resource),
        group=_group(resource),
        batch_size=resource.number("BatchSize", default=100, low=1, high=10_000),
        window=_window(resource),
        most_in_flight=_RUNS_OF_A_POLLER * _pollers(resource),
        cluster=_cluster(resource),
    )


def _topic(resource: Resource) -> str:
    match resource.get("Topics"):
        case [str(topic)]:
            return topic
        case topics:
            resource.complain(f"Topics is {topics!r}, but must be a list of exactly one topic")
            return ""


def _group(resource: Resource) -> str:
    known = frozenset({"ConsumerGroupId"})
    groups = [resource.inner(config, known).get("ConsumerGroupId") for config in _CONFIGS]
    match [group for group in groups if group]:
        case [str(group)]:
            return group
        case _:
            resource.complain(f"exactly one ConsumerGroupId is needed, in {' or '.join(_CONFIGS)}")
            return ""


def _cluster(resource: Resource) -> str | None:
    """Return the name of an MSK cluster in events; here a cluster is only a reference."""
    arn = resource.properties.get("EventSourceArn")
    return arn if arn is None or isinstance(arn, str) else _THE_CLUSTER


def _window(resource: Resource) -> timedelta:
    name = "MaximumBatchingWindowInSeconds"
    if resource.get(name) is None:
        return _DEFAULT_WINDOW
    return timedelta(seconds=resource.number(name, default=0, low=0, high=300))


def _pollers(resource: Resource) -> int:
    pollers = resource.inner("ProvisionedPollerConfig", _POLLERS).get("MaximumPollers", 1)
    return resource.checked_number("MaximumPollers", pollers, low=1, high=2_000)
