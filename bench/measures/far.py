"""Redis memory for tasks that are scheduled over the coming year."""

import random
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

from bench.client import Client
from bench.figures import Figure
from bench.memory import redis_of, used
from bench.sizes import Sizes
from bench.system import System
from taskmill.stores.redis.keys import EVERY_RECORD, ShardKeys
from taskmill_local.settings import SHARDS

_SECTION: Final = "bytes of Redis for a task scheduled over the coming year"
_YEAR_SECONDS: Final = 365 * 86_400
_FAR_SECONDS: Final = 86_400
_BATCH: Final = 1_000
_PATIENCE_SECONDS: Final = 1_800
_GLANCE_SECONDS: Final = 0.2
_FEW_KEYS: Final = 20
"""A shard's own keys exist only while they hold something."""


def measure_far(system: System, sizes: Sizes) -> list[Figure]:
    with redis_of(system) as redis:
        unkeyed = _cost(system, redis, sizes.far_tasks, key=None)
        keyed = _cost(system, redis, sizes.far_tasks, key=f"far {time.time_ns()}")
    return [
        Figure(section=_SECTION, name="in its first hour", value=unkeyed[0], unit="bytes"),
        Figure(section=_SECTION, name="then, without a key", value=unkeyed[1], unit="bytes"),
        Figure(section=_SECTION, name="then, with a key", value=keyed[1], unit="bytes"),
    ]


def _cost(system: System, redis: Any, tasks: int, *, key: str | None) -> tuple[float, float]:
    before, count, keys = used(redis), system.ledger.far(), redis.dbsize()
    _submit(system, tasks, key)
    _wait(lambda: system.ledger.far() >= count + tasks and not _owed(redis), "the ledger has them")
    first = used(redis) - before
    number = _let_an_hour_pass(redis)
    stays = keys + _FEW_KEYS + (0 if key is None else tasks)
    _wait(
        lambda: not _lifetimes(redis) and redis.dbsize() <= stays, f"{number:,} records have ended"
    )
    return first / tasks, max(used(redis) - before, 0) / tasks


def _submit(system: System, tasks: int, key: str | None) -> None:
    chance, client = random.Random(tasks), Client(system.url)  # noqa: S311 - a spread, no secret
    for start in range(0, tasks, _BATCH):
        batch = []
        for number in range(start, min(start + _BATCH, tasks)):
            delay = chance.uniform(_FAR_SECONDS, _YEAR_SECONDS)
            extra = {} if key is None else {"idempotency_key": f"{key} {number}"}
            about = {"type": "echo", "payload": {"say": number}, "delay_seconds": round(delay)}
            batch.append(about | extra)
        client.call("POST", "/v1/tasks/batch", {"tasks": batch})
    client.close()


def _let_an_hour_pass(redis: Any) -> int:
    """End everything now that would end within the hour; the system's scheduler does the rest."""
    ends = 0
    for names in _in_batches(redis.scan_iter(match=EVERY_RECORD, count=_BATCH)):
        pipeline = redis.pipeline(transaction=False)
        for name in names:
            pipeline.pttl(name).hget(name, "status")
        replies = pipeline.execute()
        ending = [
            name
            for name, lifetime, status in zip(names, replies[::2], replies[1::2], strict=True)
            if lifetime > 0 and status == b"scheduled"
        ]
        for name in ending:
            pipeline.pexpire(name, 1)
        pipeline.execute()
        ends += len(ending)
    for shard in range(SHARDS):
        lifetimes = ShardKeys(shard, SHARDS).lifetimes
        for members in _in_batches(redis.zscan_iter(lifetimes, count=_BATCH)):
            redis.zadd(lifetimes, {name: 1 for name, _ in members}, xx=True)
            ends += len(members)
    return ends


def _in_batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(items)
    while some := list(islice(rest, _BATCH)):
        yield some


def _lifetimes(redis: Any) -> int:
    names = [ShardKeys(shard, SHARDS).lifetimes for shard in range(SHARDS)]
    return sum(redis.zcard(name) for name in names)


def _owed(redis: Any) -> int:
    return sum(redis.zcard(ShardKeys(shard, SHARDS).due) for shard in range(SHARDS))


def _wait(is_so: Any, what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise SystemExit(f"after {_PATIENCE_SECONDS} s it is not so that {what}")
        time.sleep(_GLANCE_SECONDS)  # a check costs Redis little compared with what it waits for
