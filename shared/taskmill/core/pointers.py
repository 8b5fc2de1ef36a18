"""Where a payload or a result stands that is too large to travel with its task."""

from datetime import timedelta
from hashlib import sha256
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

POINTED_BYTES: Final = 20 * 1024 * 1024
"""A worker holds all of it in memory, once for each task that it performs."""

LINK_LIVES: Final = timedelta(minutes=15)
"""How long a link to upload or download may be followed."""

PAYLOAD_MARGIN: Final = timedelta(days=1)
"""For so long behind its beginning a task may want its payload: in line, and for its retries."""


Size: TypeAlias = Annotated[int, Meta(ge=1, le=POINTED_BYTES)]
Digest: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
"""A SHA-256 in hex, as a client must write it."""


class Pointer(Struct, frozen=True, kw_only=True):
    """A place in the bucket, and what stands there."""

    url: str
    """As `s3://bucket/key`."""

    size: int
    sha256: str
    """In hex."""


class Blob(Struct, frozen=True, kw_only=True):
    """What stands in the bucket."""

    size: int
    kept_until_ms: int
    """It may be gone after that; uploaded again, it is kept anew."""


class Upload(Struct, frozen=True, kw_only=True):
    """A request that writes one content and no other, for whoever sends it in time."""

    method: str
    url: str
    headers: dict[str, str]


def pointer_to(url: str, content: bytes) -> Pointer:
    return Pointer(url=url, size=len(content), sha256=sha256(content).hexdigest())


def payload_key(task_type: str, tenant: str, digest: str) -> str:
    """Name a payload by its content: uploaded twice it stands once, and nothing replaces it."""
    return f"payloads/{task_type}/{tenant}/{digest}"


def result_prefix(task_type: str) -> str:
    """Return how all begins that the worker of a type may write."""
    return f"results/{task_type}/"


def result_key(task_type: str, task_id: str, digest: str) -> str:
    """Name a result by its task and its content: whoever is late overwrites nothing."""
    return f"{result_prefix(task_type)}{task_id}/{digest}"
