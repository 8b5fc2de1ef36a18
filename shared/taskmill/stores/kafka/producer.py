"""Sends batches of records, and waits until all replicas have them.

Requests are sent as soon as they are built; `flush` reads the responses. Each batch has a sequence
number in its partition: a broker that already has it, because only its response was lost, says so.
"""

import time
from collections.abc import Iterable, Sequence
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from taskmill.stores.kafka.cluster import Address, Cluster
from taskmill.stores.kafka.connection import Connection, seconds_until
from taskmill.stores.kafka.errors import KafkaFailure, failure_of, timeouts_as
from taskmill.stores.kafka.protocol import (
    Api,
    Author,
    Batch,
    Header,
    author_of,
    author_request,
    batch_of,
    errors_of_produce,
    produce_request,
)

_BATCH_BYTES = 1_000_000
_PAUSE_SECONDS = 0.05
"""Brokers do not announce their recovery, so requests are retried."""

_SECONDS_TO_READ = 0.1
_SECONDS_TO_LOOK = 0.001
_FOR_EVER = float("inf")
_WRITTEN = frozenset({0, 46})  # now, or by an earlier request whose response was lost
_WILL_PASS = frozenset({3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 45, 56})
"""A leader moves or a replica lags; 45: a batch overtook one that was refused."""


class _Offer(Struct, frozen=True):
    """Batches in flight; without a connection they were not sent."""

    batches: Sequence[Batch]
    address: Address
    until: float
    """Its deadline."""

    connection: Connection | None = None
    ticket: int = 0


class Producer:
    """Discard it after a failure: its sequence numbers may then have a gap."""

    def __init__(self, cluster: Cluster, *, until: float) -> None:
        self._cluster = cluster
        self._author = _author(cluster, until)
        self._sequences: dict[tuple[str, int], int] = {}
        self._turn = count()
        self._offers: list[_Offer] = []

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits for an acknowledgement."""
        return not self._offers

    def send(
        self,
        topic: str,
        values: Iterable[bytes],
        headers: Sequence[Header] = (),
        *,
        partition: int | None = None,
        until: float,
    ) -> None:
        """Send the values to one partition of *topic*, or spread them over all."""
        partitions = len(self._cluster.leaders(topic, until=until))
        shares: dict[int, list[list[bytes]]] = {}
        for value in values:
            place = next(self._turn) if partition is None else partition
            share = shares.setdefault(place % partitions, [[]])
            if sum(map(len, share[-1])) + len(value) > _BATCH_BYTES and share[-1]:
                share.append([])
            share[-1].append(value)
        batches = [
            self._batch(topic, place, chunk, headers)
            for place, share in shares.items()
            for chunk in share
        ]
        self._offers += self._offer(batches, until)

    def flush(self, *, until: float = _FOR_EVER) -> bool:
        """Return whether everything is acknowledged, as soon as it is, or at *until*.

        Raise when something is not acknowledged in its own time. What was refused is sent again.
        """
        cause: Exception | None = None
        while self._offers:
            offers, self._offers = self._offers, []
            failure, again, waiting = self._outcome(offers, until)
            self._offers += waiting
            if failure is None:
                return not waiting
            if cause is None or not isinstance(failure, TimeoutError):
                cause = failure
            if any(time.monotonic() + _PAUSE_SECONDS > offer.until for offer in again):
                raise cause
            time.sleep(_PAUSE_SECONDS)
            self._cluster.forget({batch.topic for offer in again for batch in offer.batches})
            with timeouts_as(cause):
                for offer in again:
                    self._offers += self._offer(offer.batches, offer.until)
            if time.monotonic() >= until:
                return False
        return True

    def _batch(
        self, topic: str, partition: int, values: Sequence[bytes], headers: Sequence[Header]
    ) -> Batch:
        sequence = self._sequences.get((topic, partition), 0)
        self._sequences[topic, partition] = sequence + len(values)
        written = batch_of(values, headers, author=self._author, sequence=sequence)
        return Batch(topic=topic, partition=partition, octets=written)

    def _offer(self, batches: Iterable[Batch], until: float) -> list[_Offer]:
        """Send batches to their leaders, in as many requests as the fullest partition needs."""
        rounds: dict[tuple[int, Address], list[Batch]] = {}
        counts: dict[tuple[str, int], int] = {}
        for batch in batches:
            place = (batch.topic, batch.partition)
            counts[place] = counts.get(place, 0) + 1
            leader = self._cluster.leaders(batch.topic, until=until)[batch.partition]
            rounds.setdefault((counts[place], leader), []).append(batch)
        return [self._go(address, members, until) for (_, address), members in rounds.items()]

    def _go(self, address: Address, batches: Sequence[Batch], until: float) -> _Offer:
        body = produce_request(batches, within_ms=int(seconds_until(until) * 1000))
        try:
            connection = self._cluster.connection(address, until=until)
            ticket = connection.send(Api.PRODUCE, body, until=until)
            return _Offer(batches, address, until, connection, ticket)
        except OSError:
            self._cluster.drop(address)
            return _Offer(batches, address, until)

    def _outcome(
        self, offers: Sequence[_Offer], until: float
    ) -> tuple[Exception | None, Sequence[_Offer], Sequence[_Offer]]:
        """Return the last temporary failure, the batches to resend, and those without a response.

        The latter still have time.
        """
        failure: Exception | None = None
        again: list[_Offer] = []
        waiting: list[_Offer] = []
        for offer in offers:
            try:
                refused = _refused(offer, until)
            except OSError as error:
                if isinstance(error, TimeoutError) and time.monotonic() < offer.until:
                    waiting.append(offer)
                    continue
                self._cluster.drop(offer.address)
                failure = error
                again.append(offer)
                continue
            if refused:
                failure = _worst(refused.values())
                again.append(replace(offer, batches=[*refused]))
        return failure, again, waiting


def _refused(offer: _Offer, until: float) -> dict[Batch, int]:
    if offer.connection is None:
        raise ConnectionResetError("the broker cannot be reached")
    # Acknowledgements that arrived long ago have yet to be read.
    now = time.monotonic()
    latest = min(max(until, now + _SECONDS_TO_LOOK), max(offer.until, now + _SECONDS_TO_READ))
    errors = errors_of_produce(offer.connection.receive(offer.ticket, until=latest))
    codes = {batch: errors[batch.topic, batch.partition] for batch in offer.batches}
    return {batch: code for batch, code in codes.items() if code not in _WRITTEN}


def _worst(codes: Iterable[int]) -> KafkaFailure:
    """Return a temporary failure, or raise a permanent one."""
    code = min(codes, key=_WILL_PASS.__contains__)
    if code not in _WILL_PASS:
        raise failure_of(code)
    return failure_of(code)


def _author(cluster: Cluster, until: float) -> Author:
    """Request a producer id; a broker that has just started must first load some names."""
    failure: KafkaFailure | None = None
    while True:
        with timeouts_as(failure):
            error, author = _ask_for_author(cluster, until)
        if not error:
            return author
        failure = failure_of(error)
        if error not in _WILL_PASS or time.monotonic() + _PAUSE_SECONDS > until:
            raise failure
        time.sleep(_PAUSE_SECONDS)


def _ask_for_author(cluster: Cluster, until: float) -> tuple[int, Author]:
    connection = cluster.anyone(until=until)
    return author_of(connection.ask(Api.INIT_PRODUCER_ID, author_request(), until=until))
