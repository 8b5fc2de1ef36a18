"""The memory of Redis."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from redis import Redis

from bench.system import System


@contextmanager
def redis_of(system: System) -> Iterator[Any]:
    client = Redis.from_url(system.look()["stores"]["Valkey"]["address"])
    try:
        yield client
    finally:
        client.close()


def used(redis: Any) -> int:
    """Return how many bytes its data and buffers take."""
    return int(redis.info("memory")["used_memory"])
