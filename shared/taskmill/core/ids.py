"""How a task gets its id, its shard and its fingerprint."""

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from taskmill.core.task import Millis, TaskId, TaskType


def keyed_id(tenant: str, task_type: TaskType, key: str) -> TaskId:
    """Return the id that this idempotency key always names: a UUIDv8."""
    digest = sha256()
    for part in (tenant, task_type, key):
        octets = part.encode()
        digest.update(len(octets).to_bytes(4, "big") + octets)
    return _uuid(int.from_bytes(digest.digest()[:16], "big"), version=8)


def unkeyed_id(now: Millis, entropy: bytes) -> TaskId:
    """Return a UUIDv7 of this moment and ten random bytes."""
    return _uuid(now << 80 | int.from_bytes(entropy[:10], "big"), version=7)


def is_keyed(task_id: TaskId) -> bool:
    """Tell whether the id comes from a key, so that its task may have had a life before."""
    return task_id[14] == "8"


def _uuid(number: int, *, version: int) -> TaskId:
    number = number & ~(0xF << 76) | version << 76
    number = number & ~(0x3 << 62) | 0x2 << 62
    digits = f"{number:032x}"
    return TaskId("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))


def shard_of(task_id: TaskId, shards: int) -> int:
    """Return the shard of a task; the last 32 bits of an id are as good as random."""
    return int(task_id[-8:], 16) % shards


def fingerprint(request: Mapping[str, object]) -> str:
    """Return the hash of a request's fields as they were given, without the key."""
    fields = {name: value for name, value in request.items() if name != "idempotency_key"}
    return sha256(msgspec.json.encode(fields, order="deterministic")).hexdigest()
