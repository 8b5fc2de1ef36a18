"""Distinguishes an idle Kafka client from one that will never recover."""

from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException

_DOUBT_SECONDS = 5.0
_SILENT_SECONDS = 15.0
_DOUBTS_OUTSIDE_THE_GROUP = 3
_LOOKUP_SECONDS = 2.0


class LivenessProbe:
    """Doubts a client that has no partition, and after longer one that reads nothing.

    After a freeze, a single broker can send metadata that does not list itself. A client that reads
    this forgets the broker and may never ask again:
    https://github.com/confluentinc/librdkafka/issues/5301. It may even keep its partitions: it
    learns only from a broker that they have gone to others.
    """

    def __init__(self, topic: str, clock: Callable[[], float]) -> None:
        self._topic = topic
        self._clock = clock
        self._rested_at = clock()
        self._times_outside = 0
        self._has_topic = False

    def rest(self) -> None:
        """Consider the client healthy for a while."""
        self._rested_at = self._clock()

    def is_justified(self, consumer: Consumer, *, has_partitions: bool) -> bool:
        """Return whether the client has found no broker, or no way into its group, for too long."""
        patience = _SILENT_SECONDS if has_partitions else _DOUBT_SECONDS
        if self._clock() < self._rested_at + patience:
            return False
        if self.finds_a_broker(consumer) and not self._is_left_outside(consumer):
            self.rest()
            return False
        self._times_outside = 0
        return True

    def finds_a_broker(self, consumer: Consumer) -> bool:
        try:
            metadata = consumer.list_topics(self._topic, timeout=_LOOKUP_SECONDS)
        except KafkaException:
            return False
        self._has_topic = metadata.topics[self._topic].error is None
        return bool(metadata.brokers)

    def _is_left_outside(self, consumer: Consumer) -> bool:
        """Return whether a group for an existing topic has kept the client out for too long."""
        is_outside = self._has_topic and not consumer.memberid()
        self._times_outside = self._times_outside + 1 if is_outside else 0
        return self._times_outside >= _DOUBTS_OUTSIDE_THE_GROUP
