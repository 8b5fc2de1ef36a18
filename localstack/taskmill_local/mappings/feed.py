"""The thread that reads a mapping's topic and commits for its group."""

import asyncio
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from taskmill_local.mappings.bounds import Bounds
from taskmill_local.mappings.client import ConsumerSettings, sentence_for, silent_logger
from taskmill_local.mappings.event import Fetched, Record, encode
from taskmill_local.mappings.inbox import Inbox
from taskmill_local.mappings.liveness_probe import LivenessProbe
from taskmill_local.plan import MappingPlan

_AT_ONCE = 500
_GLANCE_SECONDS = 0.1
_LOOK_SECONDS = 0.5
_LOOKUP_SECONDS = 2.0
_FAREWELL_SECONDS = 0.5
_CLOSE_SECONDS = 1.0


class Feed:
    """A Kafka consumer in its own thread, because its calls block.

    The client is not thread-safe, so requests from outside wait until that thread handles them.
    """

    def __init__(
        self,
        plan: MappingPlan,
        *,
        brokers: str,
        inbox: Inbox,
        patience: timedelta,
        settings: ConsumerSettings,
    ) -> None:
        self._topic = plan.topic
        self._brokers = brokers
        self._inbox = inbox
        self._patience_seconds = patience.total_seconds()
        self._loop = asyncio.get_running_loop()
        self._closing = threading.Event()
        self._ended = asyncio.Event()
        self._farewell: Mapping[int, int] = {}
        self._is_farewell_answered = False
        self._taken_away: set[int] = set()
        self._requests: deque[Callable[[], object]] = deque()
        self._look_at = 0.0
        self._bounds = Bounds(self._loop.time)
        self._doubt = LivenessProbe(plan.topic, self._loop.time)
        self._plan = plan
        self._settings = settings
        self._consumer = self._new_consumer()
        # A daemon: a broker that never responds must not keep the platform from ending.
        self._thread = threading.Thread(target=self._run, name=f"mapping-{plan.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def close(self, offsets: Mapping[int, int]) -> None:
        """Commit the *offsets* and leave the group."""
        self._farewell = offsets
        self._closing.set()
        # Without a broker the client takes seconds to leave; its thread may finish alone.
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), _CLOSE_SECONDS)

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Request a commit; its result goes to the inbox."""
        self._requests.append(partial(self._commit, offsets))

    def pause(self, partition: int) -> None:
        self._requests.append(lambda: self._consumer.pause(self._places({partition: 0})))

    def resume(self, partition: int) -> None:
        self._requests.append(lambda: self._consumer.resume(self._places({partition: 0})))

    def bounds(self, partition: int) -> tuple[int, int] | None:
        """Return the first and next offset of a partition from a recent fetch."""
        return self._bounds.of(partition)

    def _run(self) -> None:
        try:
            self._subscribe()
            while not self._closing.is_set():
                try:
                    self._read()
                    self._fulfil()
                except KafkaException as error:  # whatever went wrong, it may pass
                    self._on_error(error.args[0])
                    self._closing.wait(_GLANCE_SECONDS)
            self._leave()
        finally:
            self._notify(self._ended.set)

    def _new_consumer(self) -> Consumer:
        return Consumer(
            self._settings(self._plan, brokers=self._brokers),
            logger=silent_logger(),
            error_cb=self._on_error,
            on_commit=self._on_commit,
        )

    def _subscribe(self) -> None:
        self._consumer.subscribe(
            [self._topic],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )

    def _read(self) -> None:
        # Waiting for one and then draining wakes up at once; waiting for many would wait for all.
        first = self._consumer.poll(_GLANCE_SECONDS)
        if first is None:
            return
        self._taken_away = set()
        records: defaultdict[int, list[Record]] = defaultdict(list)
        for message in (first, *self._consumer.consume(_AT_ONCE - 1, timeout=0)):
            if error := message.error():
                self._on_error(error)
            elif message.partition() not in self._taken_away:
                record = encode(cast(Fetched, message))
                records[record.partition].append(record)
        if records:
            self._doubt.rest()
            self._notify(self._inbox.arrived, records)

    def _fulfil(self) -> None:
        while self._requests:
            with suppress(KafkaException):  # the partition may just have been revoked
                self._requests.popleft()()
        if self._loop.time() >= self._look_at:
            self._look_at = self._loop.time() + _LOOK_SECONDS
            self._look()

    def _look(self) -> None:
        places = self._consumer.assignment()
        if self._doubt.is_justified(self._consumer, has_partitions=bool(places)):
            self._exchange(places)
            self._doubt.rest()
        else:
            self._bounds.look(self._consumer, places)

    def _exchange(self, places: list[TopicPartition]) -> None:
        """Replace the client with a new one if that finds a broker."""
        other = self._new_consumer()
        if self._doubt.finds_a_broker(other):
            self._on_lost(self._consumer, places)
            self._consumer, other = other, self._consumer
            self._subscribe()
        # A client that waits for a commit's answer with no broker to send one waits forever.
        threading.Thread(target=other.close, name="mapping-leftover", daemon=True).start()

    def _commit(self, offsets: Mapping[int, int]) -> None:
        try:
            self._consumer.commit(offsets=self._places(offsets), asynchronous=True)
        except KafkaException:
            self._notify(self._inbox.committed, dict.fromkeys(offsets))

    def _leave(self) -> None:
        if self._farewell:
            # A synchronous commit would wait a minute for an unresponsive broker.
            with suppress(KafkaException):  # the records are then delivered again: at least once
                self._consumer.commit(offsets=self._places(self._farewell), asynchronous=True)
                self._await_commit()
        self._consumer.close()

    def _await_commit(self) -> None:
        deadline = time.monotonic() + _FAREWELL_SECONDS
        while not self._is_farewell_answered and time.monotonic() < deadline:
            self._consumer.poll(0.01)

    def _on_assign(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        if consumer is not self._consumer:
            return  # it is closing and releases them at once
        try:
            positions = consumer.committed(places, timeout=_LOOKUP_SECONDS)
        except KafkaException:  # only the lag needs it now; the records are fetched anyway
            positions = places
        offsets = {
            place.partition: place.offset if place.offset >= 0 else None for place in positions
        }
        self._notify(self._inbox.assigned, offsets)
        self._bounds.forget(places)

    def _on_revoke(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        if self._closing.is_set() or consumer is not self._consumer:
            return  # the closing commit is done, and the loop may be gone
        partitions = [place.partition for place in places]
        self._taken_away.update(partitions)
        release = asyncio.run_coroutine_threadsafe(self._inbox.released(partitions), self._loop)
        try:
            # Twice the patience: the loop may be busy, but a stopped one must not block us for
            # ever.
            offsets = release.result(timeout=2 * self._patience_seconds + 1)
            if offsets:
                # The client gives up the partitions once it has the answer, however long that
                # takes.
                consumer.commit(offsets=self._places(offsets), asynchronous=True)
        except (FutureTimeoutError, KafkaException):
            pass  # their next owner starts from the last commit: at least once

    def _on_lost(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        if consumer is not self._consumer:
            return
        partitions = [place.partition for place in places]
        self._taken_away.update(partitions)
        self._notify(self._inbox.lost, partitions)

    def _on_commit(self, error: KafkaError | None, places: list[TopicPartition]) -> None:
        if self._closing.is_set():
            self._is_farewell_answered = True
        offsets = {
            place.partition: None if error or place.error else place.offset for place in places
        }
        self._notify(self._inbox.committed, offsets)

    def _on_error(self, error: KafkaError) -> None:
        sentence = sentence_for(error, topic=self._topic, brokers=self._brokers)
        if sentence and not self._closing.is_set():
            self._notify(self._inbox.troubled, sentence)

    def _places(self, offsets: Mapping[int, int]) -> list[TopicPartition]:
        return [
            TopicPartition(self._topic, partition, offset) for partition, offset in offsets.items()
        ]

    def _notify(self, act: Callable[..., object], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop may be gone when a broker responds late
            self._loop.call_soon_threadsafe(act, *arguments)
