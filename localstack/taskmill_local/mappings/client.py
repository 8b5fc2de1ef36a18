"""How the Kafka consumer of a mapping is set up."""

import logging
from datetime import timedelta
from typing import Any, Final, Protocol

from confluent_kafka import KafkaError

from taskmill_local.plan import MappingPlan

# The largest message that the topics allow, with room for what surrounds it.
_MESSAGE_BYTES = 2 * 1024 * 1024 + 64 * 1024

# An idle topic costs two requests a second.
FETCH_WAIT: Final = timedelta(milliseconds=500)
"""How long the broker may keep a request for records that has too few to answer."""

_FORBIDDEN: Final = frozenset(
    {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED}
)
_GATHERED_BYTES: Final = 16 * 1024


class ConsumerSettings(Protocol):
    """How the consumer of a mapping is set up; each new client asks anew."""

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
        # The shortest that brokers allow: after a crash the group waits this long for the dead one.
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 1_500,
        # The longest allowed: it is the functions that take their time, not the thread that reads.
        "max.poll.interval.ms": 86_400_000,
        "fetch.wait.max.ms": int(FETCH_WAIT.total_seconds() * 1000),
        # A mapping with a window lets the broker gather: else each record costs an answer.
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
    """Return the logger for the client's own lines: what matters is reported in sentences."""
    logger = logging.getLogger("taskmill_local.mappings.client")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
    return logger


def sentence_for(error: KafkaError, *, topic: str, brokers: str) -> str | None:
    """Return what to tell people, if it is worth telling: the client mends most by itself."""
    code = error.code()
    if code == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - the client's own name for it
        return (
            f"Kafka at {brokers} cannot be reached; the mappings go on by themselves "
            "when it is back."
        )
    if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
        return f"Topic {topic} does not exist; its mapping goes on by itself once it is created."
    if code in _FORBIDDEN:
        return (
            f"Kafka does not let the mapping of topic {topic} read it; "
            "it goes on by itself once it may."
        )
    if error.fatal():
        return f"The mapping of topic {topic} cannot go on: {error.str()}. Restart the platform."
    return None
