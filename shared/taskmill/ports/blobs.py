"""What is too large to travel with its task."""

from typing import Protocol

from taskmill.domain.pointers import Blob, Upload


class Blobs(Protocol):
    """What is too large to travel with its task; all of it is known by `s3://bucket/key`."""

    def url(self, key: str) -> str: ...

    def upload_link(self, key: str, *, size: int, digest: str) -> Upload:
        """Return the one request that a client may write with."""
        ...

    def download_link(self, url: str) -> str: ...

    def look(self, url: str) -> Blob | None: ...

    def read(self, url: str, *, most: int) -> bytes | None:
        """Return what stands there, cut behind *most* bytes; None when nothing does."""
        ...

    def write(self, key: str, content: bytes) -> None: ...
