"""The brokers of a cluster: partition leaders, and a connection to each broker."""

import time
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from taskmill.settings.access import KafkaAccess
from taskmill.stores.kafka.connection import Connection
from taskmill.stores.kafka.errors import KafkaFailure, timeouts_as
from taskmill.stores.kafka.protocol import Api, layout_of, metadata_request

Address: TypeAlias = tuple[str, int]

_PAUSE_SECONDS = 0.05
"""Brokers do not announce new leaders, so they are polled."""
_PORT = 9092


class Cluster:
    """Caches leaders until a broker denies being one."""

    def __init__(self, access: KafkaAccess, *, until: float) -> None:
        """Connect to one of the brokers, or raise the last error."""
        self._access = access
        self._brokers: Mapping[int, Address] = {}
        self._leaders: dict[str, Sequence[int]] = {}
        self._connections: dict[Address, Connection] = {}
        self.anyone(until=until)

    def leaders(self, topic: str, *, until: float) -> Sequence[Address]:
        """Return the broker that leads each partition of *topic*."""
        failure: KafkaFailure | None = None
        while not self._knows(topic):
            with timeouts_as(failure):
                self._learn(topic, until)
            if not self._knows(topic):
                failure = KafkaFailure(f"the topic {topic} does not exist or has no leader")
                if time.monotonic() + _PAUSE_SECONDS > until:
                    raise failure
                time.sleep(_PAUSE_SECONDS)
        return [self._brokers[node] for node in self._leaders[topic]]

    def connection(self, address: Address, *, until: float) -> Connection:
        existing = self._connections.get(address)
        if existing is not None and not existing.is_stale:
            return existing
        self.drop(address)
        connection = self._connections[address] = Connection(self._access, *address, until=until)
        return connection

    def anyone(self, *, until: float) -> Connection:
        """Return a connection to any of the brokers."""
        failure: Exception = KafkaFailure("no broker is configured")
        configured = (_address(place) for place in self._access.brokers.split(","))
        for address in (*self._connections, *configured):
            try:
                return self.connection(address, until=until)
            except OSError as error:
                failure = error
        raise failure

    def drop(self, address: Address) -> None:
        """Drop a failed connection and the requests on it."""
        if connection := self._connections.pop(address, None):
            connection.close()

    def forget(self, topics: Collection[str]) -> None:
        """Request the leaders again."""
        for topic in topics:
            self._leaders.pop(topic, None)

    def close(self) -> None:
        for address in tuple(self._connections):
            self.drop(address)

    def _knows(self, topic: str) -> bool:
        leaders = self._leaders.get(topic, ())
        return bool(leaders) and all(node in self._brokers for node in leaders)

    def _learn(self, topic: str, until: float) -> None:
        request = metadata_request([topic])
        try:
            answer = self.anyone(until=until).ask(Api.METADATA, request, until=until)
        except ConnectionError:  # it was lost meanwhile: the live ones are soon reconnected
            self.close()
            answer = self.anyone(until=until).ask(Api.METADATA, request, until=until)
        layout = layout_of(answer)
        if topic in layout.forbidden:
            raise KafkaFailure(f"access to the topic {topic} is denied")
        self._brokers = layout.brokers
        self._leaders |= layout.leaders


def _address(place: str) -> Address:
    host, _, port = place.strip().rpartition(":")
    if not host or not port.isdecimal():
        host, port = place.strip(), str(_PORT)
    return host.strip("[]"), int(port)
