"""How far the log reaches, asked of Kafka."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from taskmill.adapters.access import Access, KafkaAccess
from taskmill.adapters.guard import Guard
from taskmill.adapters.kafka.bus import API_VERSION, STORE
from taskmill.adapters.kafka.client import client_settings, is_refusal, why
from taskmill.domain import topics
from taskmill.domain.errors import StoreUnavailable
from taskmill.domain.retention import in_ms

TIME_TO_ANSWER = timedelta(seconds=4)


class KafkaLogEnds:
    def __init__(
        self,
        access: Access[KafkaAccess] | str,
        *,
        patience: timedelta = TIME_TO_ANSWER,
        guard: Guard | None = None,
    ) -> None:
        """Take what opens Kafka, or the addresses of brokers that anybody may speak to."""
        self._patience = in_ms(patience)
        self._guard = guard or Guard(STORE)
        self._access = Access(KafkaAccess(brokers=access)) if isinstance(access, str) else access
        self._consumer: Any = None

    def ends(self) -> Mapping[tuple[str, int], int]:
        """Return the end offset of each partition that feeds the ledger's tasks."""
        with self._guard.watch():
            try:
                return self._ask()
            except (KafkaError, OSError) as error:
                self.close()
                raise StoreUnavailable(STORE, why(error)) from error

    def close(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close(autocommit=False, timeout_ms=0)

    def _ask(self) -> Mapping[tuple[str, int], int]:
        if self._consumer is None:
            self._consumer = self._access.open(self._make_consumer, is_refusal)
            # Asking for partitions waits without an end for a broker that is away; this does not.
            self._consumer.end_offsets([TopicPartition(topics.PENDING, 0)])
        places = [
            TopicPartition(topic, partition)
            for topic in (topics.PENDING, topics.EVENTS)
            for partition in self._consumer.partitions_for_topic(topic) or ()
        ]
        found = self._consumer.end_offsets(places)
        return {(place.topic, place.partition): end for place, end in found.items()}

    def _make_consumer(self, access: KafkaAccess) -> Any:
        return KafkaConsumer(
            **client_settings(access),
            api_version=API_VERSION,
            group_id=None,
            request_timeout_ms=self._patience,
        )
