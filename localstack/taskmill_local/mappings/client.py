"""Configuration of a mapping's Kafka consumer."""

import logging
from datetime import timedelta
from typing import Any, Final, Protocol

from confluent_kafka import KafkaError

from taskmill_local.plan import MappingPlan

# The largest message that the topics allow, with room for the overhead.
_MESSAGE_BYTES = 2 * 1024 * 1024 + 64 * 1024

# An idle topic costs two requests per second.
FETCH_WAIT: Final = timedelta(milliseconds=500)
"""How long the broker may hold a fetch request that has too few records."""

_FORBIDDEN: Final = frozenset(
    {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED}
)
_GATHERED_BYTES: Final = 16 * 1024


class ConsumerSettings(Protocol):
    """How the consumer of a mapping is set up; each new client reads it again."""

    def __call__(self, plan: MappingPlan, *, brokers: str) -> dict[str, Any]: ...


def consumer_settings(plan: MappingPlan, *, brokers: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": brokers,
        "client.id": f"mapping-{plan.name}",
        "group.id": plan.group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "partition.assignment.strategy": "cooperative-sticky",
        # The shortest that brokers allow: after a crash the group waits this long for the dead
        # member.
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 1_500,
        # The longest allowed: functions take their time, but the thread keeps reading.
        "max.poll.interval.ms": 86_400_000,
        "fetch.wait.max.ms": int(FETCH_WAIT.total_seconds() * 1000),
        # For a mapping with a window the broker gathers records: otherwise each costs a response.
        "fetch.min.bytes": _GATHERED_BYTES if plan.window else 1,
        "fetch.error.backoff.ms": 50,
        "fetch.queue.backoff.ms": 5,
        "fetch.message.max.bytes": _MESSAGE_BYTES,
        "queued.min.messages": 2_000,
        "queued.max.messages.kbytes": 8_192,
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 1_000,
        "topic.metadata.refresh.interval.ms": 5_000,
        "allow.auto.create.topics": False,
        "statistics.interval.ms": 0,
        "log.connection.close": False,
        "log_level": 3,
    }


def silent_logger() -> logging.Logger:
    """Return the logger for the client's own output: what matters is reported as sentences."""
    logger = logging.getLogger("taskmill_local.mappings.client")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
    return logger


def sentence_for(error: KafkaError, *, topic: str, brokers: str) -> str | None:
    """Return a sentence if the error needs attention: the client recovers from most by itself."""
    code = error.code()
    if code == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - the client's own name for it
        return (
            f"Kafka at {brokers} cannot be reached; the mappings continue automatically "
            "when it is back."
        )
    if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
        return (
            f"Topic {topic} does not exist; its mapping continues automatically once it is created."
        )
    if code in _FORBIDDEN:
        return (
            f"Kafka denies the mapping of topic {topic} read access; "
            "it continues automatically once access is granted."
        )
    if error.fatal():
        return f"The mapping of topic {topic} cannot continue: {error.str()}. Restart the platform."
    return None
