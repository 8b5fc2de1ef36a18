"""End offsets of the log, read from Kafka."""

import time
from collections.abc import Mapping
from datetime import timedelta

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.settings.access import Access, KafkaAccess
from taskmill.stores.guard import Guard
from taskmill.stores.kafka.cluster import Address, Cluster
from taskmill.stores.kafka.errors import STORE, KafkaFailure, is_refusal, sentence_for, why
from taskmill.stores.kafka.protocol import Api, ends_of, ends_request

TIME_TO_ANSWER = timedelta(seconds=4)


class KafkaLogEnds:
    def __init__(
        self,
        access: Access[KafkaAccess] | str,
        *,
        patience: timedelta = TIME_TO_ANSWER,
        guard: Guard | None = None,
    ) -> None:
        """Take the credentials for Kafka, or the addresses of brokers without authentication."""
        self._patience = patience.total_seconds()
        self._guard = guard or Guard(STORE)
        self._access = Access(KafkaAccess(brokers=access)) if isinstance(access, str) else access
        self._cluster: Cluster | None = None

    def ends(self) -> Mapping[tuple[str, int], int]:
        """Return the end offset of each partition from which the ledger is built."""
        until = time.monotonic() + self._patience
        with self._guard.watch():
            try:
                return self._ask_again_if_lost(until)
            except (KafkaFailure, OSError) as error:
                self.close()
                raise StoreUnavailable(STORE, why(error)) from error

    def close(self) -> None:
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.close()

    def _ask_again_if_lost(self, until: float) -> Mapping[tuple[str, int], int]:
        if self._cluster is not None:
            try:
                return self._ask(self._cluster, until)
            except (KafkaFailure, ConnectionError):  # lost, or led by others, meanwhile
                self.close()
        self._cluster = self._access.open(lambda way: Cluster(way, until=until), is_refusal)
        return self._ask(self._cluster, until)

    def _ask(self, cluster: Cluster, until: float) -> Mapping[tuple[str, int], int]:
        requests: dict[Address, dict[str, list[int]]] = {}
        for topic in (topics.PENDING, topics.EVENTS):
            for partition, leader in enumerate(cluster.leaders(topic, until=until)):
                requests.setdefault(leader, {}).setdefault(topic, []).append(partition)
        ends: dict[tuple[str, int], int] = {}
        for leader, places in requests.items():
            connection = cluster.connection(leader, until=until)
            answer = connection.ask(Api.LIST_OFFSETS, ends_request(places), until=until)
            for place, (error, end) in ends_of(answer).items():
                if error:
                    raise KafkaFailure(sentence_for(error))
                ends[place] = end
        return ends
