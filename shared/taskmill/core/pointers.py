"""References to payloads and results that are too large to travel with their task."""

from datetime import timedelta
from hashlib import sha256
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

POINTED_BYTES: Final = 20 * 1024 * 1024
"""A worker holds all of it in memory, once for each running task."""

LINK_LIVES: Final = timedelta(minutes=15)
"""How long an upload or download link is valid."""

PAYLOAD_MARGIN: Final = timedelta(days=1)
"""How long after its start a task may still need its payload, in the queue and for retries."""


Size: TypeAlias = Annotated[int, Meta(ge=1, le=POINTED_BYTES)]
Digest: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
"""A SHA-256 in lower-case hexadecimal, as clients must send it."""


class Pointer(Struct, frozen=True, kw_only=True):
    """An object in the bucket: its address and its content."""

    url: str
    """`s3://bucket/key`."""

    size: int
    sha256: str
    """In hexadecimal."""


class Blob(Struct, frozen=True, kw_only=True):
    """An object in the bucket."""

    size: int
    kept_until_ms: int
    """It may be deleted after that; another upload restarts the retention."""


class Upload(Struct, frozen=True, kw_only=True):
    """A request that uploads exactly one content, for any client that sends it in time."""

    method: str
    url: str
    headers: dict[str, str]


def pointer_to(url: str, content: bytes) -> Pointer:
    return Pointer(url=url, size=len(content), sha256=sha256(content).hexdigest())


def payload_key(task_type: str, tenant: str, digest: str) -> str:
    """Name a payload by its content: equal uploads share one object that nothing replaces."""
    return f"payloads/{task_type}/{tenant}/{digest}"


def result_prefix(task_type: str) -> str:
    """Return the prefix under which the worker of a type may write."""
    return f"results/{task_type}/"


def result_key(task_type: str, task_id: str, digest: str) -> str:
    """Name a result by its task and its content, so that a late attempt overwrites nothing."""
    return f"{result_prefix(task_type)}{task_id}/{digest}"
