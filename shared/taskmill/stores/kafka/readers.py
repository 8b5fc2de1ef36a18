"""Committed offsets of consumer groups, read from Kafka."""

from collections.abc import Mapping, Sequence
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.log import Reach
from taskmill.core.topics import Reader
from taskmill.settings.access import Access, KafkaAccess
from taskmill.stores.kafka.client import API_VERSION, client_settings, is_refusal, why
from taskmill.stores.kafka.errors import STORE

_MS_TO_ANSWER = 4000


class KafkaReaders:
    """Reads offsets without joining any group."""

    def __init__(self, access: Access[KafkaAccess] | str) -> None:
        """Take the credentials for Kafka, or the addresses of brokers without authentication."""
        self._access = Access(KafkaAccess(brokers=access)) if isinstance(access, str) else access
        self._admin: Any = None
        self._consumer: Any = None

    def reach(self, readers: Sequence[Reader]) -> Mapping[tuple[Reader, int], Reach]:
        try:
            return self._ask(readers)
        except KeyError as error:  # the client omits partitions whose leader's connection it lost
            self.close()
            raise StoreUnavailable(STORE, f"the response lacks {error}") from error
        except (KafkaError, OSError) as error:
            self.close()
            raise StoreUnavailable(STORE, why(error)) from error

    def close(self) -> None:
        admin, self._admin = self._admin, None
        consumer, self._consumer = self._consumer, None
        if admin is not None:
            admin.close()
        if consumer is not None:
            consumer.close(autocommit=False, timeout_ms=0)

    def _ask(self, readers: Sequence[Reader]) -> Mapping[tuple[Reader, int], Reach]:
        self._connect()
        places = {topic: self._places(topic) for topic in {one.topic for one in readers}}
        every = [place for these in places.values() for place in these]
        committed = self._admin.list_group_offsets([one.group for one in readers])
        begins = self._consumer.beginning_offsets(every)
        ends = self._consumer.end_offsets(every)
        return {
            (one, place.partition): Reach(
                begins[place], ends[place], _position(committed.get(one.group, {}).get(place))
            )
            for one in readers
            for place in places[one.topic]
        }

    def _connect(self) -> None:
        if self._admin is None:
            self._consumer = self._access.open(_make_consumer, is_refusal)
            # Listing partitions would wait forever for an unavailable broker, and the other client
            # leaks a thread; this does neither.
            self._consumer.end_offsets([TopicPartition(topics.PENDING, 0)])
            self._admin = self._access.open(_make_admin, is_refusal)

    def _places(self, topic: str) -> list[TopicPartition]:
        numbers = self._consumer.partitions_for_topic(topic) or ()
        return [TopicPartition(topic, number) for number in sorted(numbers)]


def _position(entry: Any) -> int | None:
    return entry.offset if entry is not None and entry.offset >= 0 else None


def _make_admin(access: KafkaAccess) -> Any:
    return KafkaAdminClient(
        **client_settings(access),
        api_version=API_VERSION,
        bootstrap_timeout_ms=_MS_TO_ANSWER,
        request_timeout_ms=_MS_TO_ANSWER,
    )


def _make_consumer(access: KafkaAccess) -> Any:
    return KafkaConsumer(
        **client_settings(access),
        api_version=API_VERSION,
        group_id=None,
        request_timeout_ms=_MS_TO_ANSWER,
    )
