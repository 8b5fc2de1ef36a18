"""The stage of mapping tests: a topic to fill, and a function that records its events."""

import asyncio
import json
import uuid
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from taskmill_local.lambdas.answer import Answer, Failed, Failure, Responded
from taskmill_local.mappings.mappings import Mappings
from taskmill_local.plan import MappingPlan

DONE = Responded(b"null")
BROKEN = Failed(Failure.HANDLER_ERROR, b'{"errorType":"KeyError","errorMessage":"\'id\'"}')
PROMPT = timedelta()
PARTITIONS = 6
SOON = 60.0
"""A deadline that only a broken mapping misses, on a slow machine too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    name: str
    brokers: str

    @classmethod
    def create(cls, brokers: str, **config: str) -> "Topic":
        topic = cls(name=f"tasks-{uuid.uuid4()}", brokers=brokers)
        topic.make(**config)
        return topic

    def make(self, **config: str) -> None:
        configs = {"max.message.bytes": "2097152"}
        configs |= {key.replace("_", "."): value for key, value in config.items()}
        admin = AdminClient({"bootstrap.servers": self.brokers, "log_level": 0})
        [made] = admin.create_topics([NewTopic(self.name, PARTITIONS, 1, config=configs)]).values()
        made.result(timeout=SOON)

    def fill(self, values: Sequence[bytes], *, partition: int = 0) -> None:
        self.send([{"value": value, "partition": partition} for value in values])

    def send(self, messages: Sequence[Mapping[str, Any]]) -> None:
        producer = Producer(
            {"bootstrap.servers": self.brokers, "message.max.bytes": 2_097_152, "log_level": 0}
        )
        for message in messages:
            producer.produce(self.name, **message)
        assert producer.flush(SOON) == 0

    def plan(self, **changes: Any) -> MappingPlan:
        settings: dict[str, Any] = {
            "name": "tasks",
            "function": "worker",
            "topic": self.name,
            "group": f"group-{self.name}",
            "batch_size": 100,
            "window": PROMPT,
            "most_in_flight": 6,
        }
        return MappingPlan(**settings | changes)

    def committed(self, partition: int = 0) -> int:
        """Read the group's commits from the broker without joining the group."""
        consumer = Consumer(
            {"bootstrap.servers": self.brokers, "group.id": f"group-{self.name}", "log_level": 0}
        )
        try:
            [place] = consumer.committed([TopicPartition(self.name, partition)], timeout=SOON)
            return max(place.offset, 0)
        finally:
            consumer.close()


Handler = Callable[[dict[str, Any]], Awaitable[Answer]]


async def succeed(_event: dict[str, Any]) -> Answer:
    return DONE


class Function:
    """Replaces the pool: records each event, and what was in flight at the same time."""

    def __init__(self, handle: Handler = succeed) -> None:
        self.events: list[dict[str, Any]] = []
        self.sizes: list[int] = []
        self.done: list[tuple[int, int]] = []
        self.times: list[float] = []
        self.most_at_once = 0
        self.overlaps = 0
        self._handle = handle
        self._busy: list[str] = []
        self._at_once = 0

    async def __call__(self, function: str, event: bytes) -> Answer:
        assert function == "worker"
        parsed = json.loads(event)
        self.events.append(parsed)
        self.sizes.append(len(event))
        self.times.append(asyncio.get_running_loop().time())
        self.overlaps += len(parsed["records"].keys() & set(self._busy))
        self._busy += parsed["records"]
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            answer = await self._handle(parsed)
        finally:
            self._at_once -= 1
            for name in parsed["records"]:
                self._busy.remove(name)
        if answer == DONE:
            self.done += places(parsed)
        return answer

    @property
    def seen(self) -> list[tuple[int, int]]:
        """Every record in the order of delivery, as partition and offset."""
        return [place for event in self.events for place in places(event)]


def places(event: dict[str, Any]) -> list[tuple[int, int]]:
    return [(record["partition"], record["offset"]) for record in records(event)]


def values(event: dict[str, Any]) -> list[bytes]:
    return [b64decode(record["value"]) for record in records(event)]


def records(event: dict[str, Any]) -> list[dict[str, Any]]:
    return [record for taken in event["records"].values() for record in taken]


@asynccontextmanager
async def mapped(
    plan: MappingPlan,
    invoke: Callable[[str, bytes], Awaitable[Answer]],
    *,
    brokers: str,
    **how: Any,
) -> AsyncIterator[Mappings]:
    async with all_mapped([plan], invoke, brokers=brokers, **how) as mappings:
        yield mappings


@asynccontextmanager
async def all_mapped(
    plans: Sequence[MappingPlan],
    invoke: Callable[[str, bytes], Awaitable[Answer]],
    *,
    brokers: str,
    **how: Any,
) -> AsyncIterator[Mappings]:
    """Run these mappings; *how* replaces their other options."""
    quietly = {"report": lambda _sentence: None}
    mappings = Mappings(plans, brokers=brokers, invoke=invoke, **quietly | how)
    await mappings.start()
    try:
        yield mappings
    finally:
        await mappings.stop(timedelta(seconds=5))


def lag(mappings: Mappings) -> int | None:
    """Return the lag of all six partitions, or None while any is unknown."""
    found = mappings.snapshot()["tasks"].lag
    return sum(found.values()) if len(found) == PARTITIONS else None


def waiting(mappings: Mappings) -> int:
    return mappings.snapshot()["tasks"].waiting


def named(topic: Topic, *failures: tuple[int, int]) -> Answer:
    """Answer that these records failed."""
    items = [
        {"itemIdentifier": {"partition": f"{topic.name}-{partition}", "offset": offset}}
        for partition, offset in failures
    ]
    return Responded(json.dumps({"batchItemFailures": items}).encode())
