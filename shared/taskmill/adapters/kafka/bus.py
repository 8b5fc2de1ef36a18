"""The log on Kafka: parcels out, acknowledged by all replicas before anything counts."""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import count, groupby
from operator import attrgetter
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError, MessageSizeTooLargeError, RecordListTooLargeError

from taskmill.adapters.access import Access, KafkaAccess
from taskmill.adapters.guard import Guard
from taskmill.adapters.kafka.client import client_settings, is_refusal, why
from taskmill.domain import topics, wire
from taskmill.domain.errors import StoreUnavailable, Unpublishable
from taskmill.domain.facts import Fact, TaskDied
from taskmill.domain.lease import Position
from taskmill.domain.log import DEAD_LETTER
from taskmill.domain.task import Envelope
from taskmill.domain.wire import Sealed

STORE = "Kafka"
API_VERSION = (3, 9)
TIME_TO_PUBLISH = timedelta(seconds=5)
"""Below the length of a lease: nothing that was decided may still be published after it."""
_SECONDS_TO_GIVE_UP = 0.2


class KafkaBus:
    """Builds its producer on first use, and a new one after any failure.

    An idempotent producer that failed or timed out once may stay stuck for good.
    """

    def __init__(
        self,
        access: Access[KafkaAccess] | str,
        *,
        patience: timedelta = TIME_TO_PUBLISH,
        guard: Guard | None = None,
    ) -> None:
        """Take what opens Kafka, or the addresses of brokers that anybody may speak to."""
        self._access = Access(KafkaAccess(brokers=access)) if isinstance(access, str) else access
        self._patience = patience.total_seconds()
        self._guard = guard or Guard(STORE)
        self._entered_ms = 0
        self._deadline = 0.0
        self._producer: Any = None
        self._unacknowledged: list[Any] = []
        self._turn = count()

    def send_pending(self, envelopes: Sequence[Envelope | Sealed]) -> None:
        self._send(topics.PENDING, wire.parcels_of_tasks(envelopes))

    def send_work(self, envelopes: Sequence[Envelope | Sealed]) -> None:
        by_type = attrgetter("type")
        for task_type, members in groupby(sorted(envelopes, key=by_type), key=by_type):
            self._send(topics.worker(task_type), wire.parcels_of_tasks(list(members)))

    def send_facts(self, facts: Sequence[Fact]) -> None:
        self._send(topics.EVENTS, wire.parcels_of_facts(facts))
        dead = [fact for fact in facts if isinstance(fact, TaskDied)]
        headers = [(name, octets) for name, octets in DEAD_LETTER.items()]
        self._send(topics.DLQ, wire.parcels_of_facts(dead), headers)

    def send_undecodable(self, value: bytes | None, at: Position, reason: str) -> None:
        headers = [
            ("reason", reason.encode()),
            ("topic", at.topic.encode()),
            ("partition", str(at.partition).encode()),
            ("offset", str(at.offset).encode()),
        ]
        self._send(topics.DLQ, [value or b""], headers)

    def is_shut(self) -> bool:
        return self._guard.is_shut()

    def _send(
        self, topic: str, values: Iterable[bytes], headers: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        values = list(values)
        if not values:
            return
        if not self._unacknowledged:
            self._entered_ms = self._guard.enter()
            self._deadline = time.monotonic() + self._patience
        try:
            producer = self._connected()
            partitions = len(producer.partitions_for(topic))
            for value in values:
                partition = next(self._turn) % partitions
                future = producer.send(topic, value, partition=partition, headers=list(headers))
                self._unacknowledged.append(future)
        except (KafkaError, OSError, AssertionError) as error:
            raise self._failed(error) from error

    def flush(self) -> None:
        """Wait until everything sent is acknowledged, or raise."""
        futures, self._unacknowledged = self._unacknowledged, []
        try:
            for future in futures:
                future.get(timeout=max(self._deadline - time.monotonic(), 0))
        except (KafkaError, OSError) as error:
            raise self._failed(error) from error
        if futures:
            self._guard.succeeded()

    def close(self) -> None:
        producer, self._producer = self._producer, None
        self._unacknowledged = []
        if producer is not None:
            # To close is not enough: it raises where something is in the air, and its thread would
            # go on trying to send what nobody waits for any more.
            producer._sender.force_close()  # noqa: SLF001 - nothing public gives up what is in the air
            producer._sender.join(_SECONDS_TO_GIVE_UP)  # noqa: SLF001 - as above
            with suppress(KafkaError):
                producer.close(timeout=0)

    def _failed(self, error: Exception) -> StoreUnavailable:
        self.close()
        if isinstance(error, MessageSizeTooLargeError | RecordListTooLargeError):
            self._guard.succeeded()
            return Unpublishable(STORE, why(error))
        self._guard.failed(self._entered_ms)
        return StoreUnavailable(STORE, why(error))

    def _connected(self) -> Any:
        if self._producer is None:
            self._producer = self._access.open(self._make_producer, is_refusal)
        return self._producer

    def _make_producer(self, access: KafkaAccess) -> Any:
        in_ms = int(self._patience * 1000)
        producer = KafkaProducer(
            **client_settings(access),
            api_version=API_VERSION,
            acks="all",
            enable_idempotence=True,
            linger_ms=0,
            batch_size=1_000_000,
            max_request_size=2 * 1024 * 1024,
            max_block_ms=in_ms - 1000,
            request_timeout_ms=in_ms - 1000,
            delivery_timeout_ms=in_ms,
            connections_max_idle_ms=60_000,
        )
        # The first look-up of a topic follows the one that found the brokers, and would wait
        # a back-off of 100 ms that no public setting reaches.
        producer._metadata.config["retry_backoff_ms"] = 5  # noqa: SLF001 - as said above
        return producer
