"""Creates missing topics and adds partitions to those that have too few."""

import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import timedelta

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from taskmill_local.errors import StoreFailed

_PATIENCE = timedelta(seconds=30)
_GLANCE_SECONDS = 0.02
_ANSWER_SECONDS = 10.0
_BROKER_DEFAULT = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    partitions: int
    configs: Mapping[str, str]


def create_topics(brokers: str, topics: Mapping[str, TopicPlan]) -> None:
    client = AdminClient({"bootstrap.servers": brokers, "log_level": 0})
    try:
        present = _partitions(client)
        missing = [
            NewTopic(name, plan.partitions, _BROKER_DEFAULT, config=dict(plan.configs))
            for name, plan in topics.items()
            if name not in present
        ]
        too_few = [
            NewPartitions(name, plan.partitions)
            for name, plan in topics.items()
            if 0 < present.get(name, 0) < plan.partitions
        ]
        _settle(client.create_topics(missing) if missing else {})
        _settle(client.create_partitions(too_few) if too_few else {})
        _wait_for_leaders(client, topics)
    except KafkaException as error:
        raise StoreFailed(f"The topics cannot be created at {brokers}: {error}.") from error


def _partitions(client: AdminClient) -> dict[str, int]:
    topics = client.list_topics(timeout=_ANSWER_SECONDS).topics
    return {name: len(topic.partitions) for name, topic in topics.items()}


def _led_partitions(client: AdminClient, name: str) -> int:
    topic = client.list_topics(timeout=_ANSWER_SECONDS).topics.get(name)
    return sum(one.leader >= 0 for one in topic.partitions.values()) if topic else 0


def _settle(answers: Mapping[str, Future[None]]) -> None:
    for answer in answers.values():
        try:
            answer.result()
        except KafkaException as error:
            # Another platform or an earlier run was faster: the topic exists, which is all we need.
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise


def _wait_for_leaders(client: AdminClient, topics: Mapping[str, TopicPlan]) -> None:
    deadline = time.monotonic() + _PATIENCE.total_seconds()
    for name, plan in topics.items():
        while _led_partitions(client, name) < plan.partitions:
            if time.monotonic() > deadline:
                raise StoreFailed(f"The topic {name} has no leader for each of its partitions.")
            time.sleep(_GLANCE_SECONDS)
