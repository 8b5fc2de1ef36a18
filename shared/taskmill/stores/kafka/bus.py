"""The log on Kafka: nothing counts until all replicas have acknowledged it."""

import time
from collections.abc import Iterable, Sequence
from datetime import timedelta

from taskmill.core import codec, topics
from taskmill.core.codec import RawEnvelope
from taskmill.core.errors import StoreUnavailable, Unpublishable
from taskmill.core.facts import Fact, TaskDied
from taskmill.core.log import DEAD_LETTER, LogRecord, exiled, refused
from taskmill.core.refusal import Refusal
from taskmill.core.task import Envelope
from taskmill.core.wake_up import WakeUp
from taskmill.settings.access import Access, KafkaAccess
from taskmill.stores.guard import Guard
from taskmill.stores.kafka.cluster import Cluster
from taskmill.stores.kafka.errors import STORE, KafkaFailure, TooLarge, is_refusal, why
from taskmill.stores.kafka.producer import Producer
from taskmill.stores.kafka.protocol import Header

TIME_TO_PUBLISH = timedelta(seconds=5)
"""Shorter than a lease, after which nothing decided earlier may still be published."""


class KafkaBus:
    """Creates its producer on first use, and a new one after any failure."""

    def __init__(
        self,
        access: Access[KafkaAccess] | str,
        *,
        patience: timedelta = TIME_TO_PUBLISH,
        guard: Guard | None = None,
    ) -> None:
        """Take the credentials for Kafka, or the addresses of brokers without authentication."""
        self._access = Access(KafkaAccess(brokers=access)) if isinstance(access, str) else access
        self._patience = patience.total_seconds()
        self._guard = guard or Guard(STORE)
        self._entered_ms = 0
        self._cluster: Cluster | None = None
        self._producer: Producer | None = None
        self.drops = 0

    def send_pending(self, envelopes: Sequence[Envelope | RawEnvelope]) -> None:
        self._send(topics.PENDING, codec.batches_of_tasks(envelopes))

    def send_wake_ups(self, wake_ups: Sequence[WakeUp]) -> None:
        for one in wake_ups:
            self._send(topics.worker(one.type), [codec.WAKE_UP], partition=one.partition)

    def send_facts(self, facts: Sequence[Fact]) -> None:
        self._send(topics.EVENTS, codec.batches_of_facts(facts))
        dead = [fact for fact in facts if isinstance(fact, TaskDied)]
        self._send(topics.DLQ, codec.batches_of_facts(dead), list(DEAD_LETTER.items()))

    def send_batch(self, topic: str, value: bytes) -> None:
        self._send(topic, [value])

    def send_undecodable(self, record: LogRecord, reason: str) -> None:
        value, headers = exiled(record, reason)
        self._send(topics.DLQ, [value], list(headers.items()))

    def send_refused(self, record: LogRecord, refusal: Refusal) -> None:
        value, headers = refused(record, refusal)
        self._send(topics.DLQ, [value], list(headers.items()))

    def is_shut(self) -> bool:
        return self._guard.is_shut()

    def is_in_doubt(self) -> bool:
        return self._guard.is_in_doubt()

    def answers(self) -> bool:
        """Connect again and request what a producer needs before it can send."""
        until = time.monotonic() + self._patience
        try:
            self._entered_ms = self._guard.enter()
            self.close()
            self._connected(until)
            self._guard.succeeded()
        except StoreUnavailable:
            return False
        except (KafkaFailure, OSError) as error:
            self._failed(error)
            return False
        return True

    def _send(
        self,
        topic: str,
        values: Iterable[bytes],
        headers: Sequence[Header] = (),
        *,
        partition: int | None = None,
    ) -> None:
        values = list(values)
        if not values:
            return
        if self._producer is None or self._producer.is_idle:
            self._entered_ms = self._guard.enter()
        until = time.monotonic() + self._patience
        try:
            producer = self._connected(until)
            producer.send(topic, values, headers, partition=partition, until=until)
        except (KafkaFailure, OSError) as error:
            raise self._failed(error) from error

    def flush(self) -> None:
        """Wait until everything sent is acknowledged, or raise."""
        if self._producer is None or self._producer.is_idle:
            return
        try:
            self._producer.flush()
        except (KafkaFailure, OSError) as error:
            raise self._failed(error) from error
        self._guard.succeeded()

    def is_flushed(self) -> bool:
        """Look whether everything sent is acknowledged, without waiting for it; or raise."""
        if self._producer is None or self._producer.is_idle:
            return True
        try:
            is_flushed = self._producer.flush(until=time.monotonic())
        except (KafkaFailure, OSError) as error:
            raise self._failed(error) from error
        if is_flushed:
            self._guard.succeeded()
        return is_flushed

    def close(self) -> None:
        if self._producer is not None:
            self.drops += 1
        cluster, self._cluster, self._producer = self._cluster, None, None
        if cluster is not None:
            cluster.close()

    def _failed(self, error: Exception) -> StoreUnavailable | Unpublishable:
        self.close()
        if isinstance(error, TooLarge):
            self._guard.succeeded()
            return Unpublishable(STORE, why(error))
        self._guard.failed(self._entered_ms)
        return StoreUnavailable(STORE, why(error))

    def _connected(self, until: float) -> Producer:
        if self._producer is None:
            self._cluster = self._access.open(lambda way: Cluster(way, until=until), is_refusal)
            self._producer = Producer(self._cluster, until=until)
        return self._producer
