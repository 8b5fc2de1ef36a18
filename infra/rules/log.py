"""Checks each function's Kafka permissions: what its code does, and nothing else."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, TypeAlias

from infra.rules.policies import statements_for
from infra.rules.template import (
    FUNCTION,
    MAPPING,
    Template,
    as_list,
    target,
    text_of,
    worker_of,
)
from taskmill.core import topics
from taskmill.core.task import TaskType
from taskmill.core.topics import Reader

Grant: TypeAlias = tuple[str, str]
"""An action with its topic, consumer group or cluster."""

_SERVICE: Final = "kafka-cluster:"
_CLUSTER: Final = "the cluster"
_EVERY_TYPE: Final = TaskType("*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What the code of a function does in the Kafka log."""

    reads: Iterable[Reader] = ()
    """Read by a mapping, which joins the group with the function's role."""

    writes: frozenset[str] = frozenset()
    watches: Iterable[Reader] = ()
    """Groups whose committed offsets and topic ends it reads."""

    looks_at: frozenset[str] = frozenset()
    """Topics whose end offsets it reads."""


_FACTS: Final = frozenset({topics.EVENTS, topics.DLQ})
_WORK: Final = topics.worker(_EVERY_TYPE)
ENDS: Final = frozenset({topics.PENDING, topics.EVENTS})
"""Topics whose ends a read compares the ledger with."""

USES: Final[Mapping[str, Use]] = {
    "Gateway": Use(
        writes=_FACTS | {topics.PENDING},
        watches=topics.LOG_READERS,
        looks_at=ENDS,
    ),
    "Inbox": Use(reads=[topics.INBOX_READER], writes=frozenset({topics.PENDING, topics.DLQ})),
    "Dispatcher": Use(reads=[topics.DISPATCHER], writes=_FACTS | {topics.PENDING, _WORK}),
    "Recorder": Use(reads=topics.RECORDERS),
    "Scheduler": Use(
        writes=_FACTS | {topics.PENDING, _WORK},
        watches=[topics.DISPATCHER, *topics.RECORDERS],
        looks_at=ENDS,
    ),
}


def use_of(name: str, function: Mapping[str, Any]) -> Use | None:
    own = worker_of(function)
    if own is not None:
        own_topic = topics.worker(TaskType(own))
        return Use(reads=[topics.worker_of(TaskType(own))], writes=_FACTS | {own_topic})
    return USES.get(name)


def functions_use_the_log_as_their_code_does(template: Template) -> Iterator[str]:
    for name, function in template.of(FUNCTION):
        use = use_of(name, function)
        if use is None:
            continue
        needed, granted = set(_needed(use)), set(_granted(template, target(function.get("Role"))))
        for action, what in sorted(needed - granted):
            yield f"{name} may not {action} {what}, but must"
        for action, what in sorted(granted - needed):
            yield f"{name} may {action} {what}, but does not need to"


def mappings_feed_who_the_code_knows(template: Template) -> Iterator[str]:
    """Lag and gaps in the ledger are looked up by these names."""
    places_of: dict[str | None, set[tuple[str, str]]] = {}
    for _, mapping in template.of(MAPPING):
        group = (mapping.get("AmazonManagedKafkaEventSourceConfig") or {}).get("ConsumerGroupId")
        places = {(str(group), topic) for topic in mapping.get("Topics") or ()}
        places_of.setdefault(target(mapping.get("FunctionName")), set()).update(places)
    for name, function in template.of(FUNCTION):
        use = use_of(name, function)
        known = {(one.group, one.topic) for one in use.reads} if use else set()
        for group, topic in sorted(known ^ places_of.get(name, set())):
            where = "template" if (group, topic) in known else "code"
            yield f"{name}: the {where} has no consumer group {group} that reads {topic}"


def readers_are_deployed_first(template: Template) -> Iterator[str]:
    """Deploy readers before writers: an earlier version cannot read what a later one writes.

    The dispatcher may come last: it passes on what it does not know.
    """
    uses = {name: use for name, one in template.of(FUNCTION) if (use := use_of(name, one))}
    for writer, use in uses.items():
        readers = {name for name, other in uses.items() if _writes_for(use, other)}
        for reader in sorted(readers - {writer, *template.after(writer)}):
            yield f"{writer} writes for {reader}, but its DependsOn does not name it"


def _writes_for(writer: Use, reader: Use) -> bool:
    read = {one.topic for one in reader.reads if one != topics.DISPATCHER}
    return any(fnmatchcase(topic, pattern) for topic in read for pattern in writer.writes)


def _needed(use: Use) -> Iterator[Grant]:
    if use.reads or use.writes or use.watches or use.looks_at:
        yield "Connect", _CLUSTER
    if use.writes:
        yield "WriteDataIdempotently", _CLUSTER
    for topic in use.writes:
        yield from (("DescribeTopic", topic), ("WriteData", topic))
    for topic in use.looks_at:
        yield "DescribeTopic", topic
    for reader in use.watches:
        yield from (("DescribeTopic", reader.topic), ("DescribeGroup", reader.group))
    for reader in use.reads:
        yield "DescribeClusterDynamicConfiguration", _CLUSTER
        yield from (("DescribeTopic", reader.topic), ("ReadData", reader.topic))
        yield from (("DescribeGroup", reader.group), ("AlterGroup", reader.group))


def _granted(template: Template, role: str | None) -> Iterator[Grant]:
    for statement in statements_for(template, role):
        for action in as_list(statement.get("Action", [])):
            if str(action).startswith(_SERVICE):
                for resource in as_list(statement.get("Resource", [])):
                    yield str(action).removeprefix(_SERVICE), _name_of(resource)


def _name_of(resource: Any) -> str:
    """Return the topic or group at the end of an ARN; for an attribute, the cluster."""
    return _CLUSTER if target(resource) else text_of(resource).rpartition("/")[2]
