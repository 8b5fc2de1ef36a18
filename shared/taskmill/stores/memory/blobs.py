"""Payloads and results in memory; its links are not usable."""

from taskmill.core.errors import StoreUnavailable
from taskmill.core.pointers import Blob, Upload

STORE = "S3"
_FOR_EVER = 2**53


class MemoryBlobs:
    """A bucket. While `is_away`, it is unavailable."""

    def __init__(self, bucket: str = "memory") -> None:
        self.is_away = False
        self.kept_until_ms = _FOR_EVER
        self.contents: dict[str, bytes] = {}
        self.media_types: dict[str, str | None] = {}
        self._home = f"s3://{bucket}/"

    def url(self, key: str) -> str:
        return f"{self._home}{key}"

    def upload_link(self, key: str, *, size: int, digest: str) -> Upload:
        headers = {"Content-Length": str(size), "x-amz-checksum-sha256": digest}
        return Upload(method="PUT", url=f"memory:{key}", headers=headers)

    def download_link(self, url: str) -> str:
        return f"memory:{url.removeprefix(self._home)}"

    def look(self, url: str) -> Blob | None:
        content = self._content(url)
        if content is None:
            return None
        return Blob(size=len(content), kept_until_ms=self.kept_until_ms)

    def read(self, url: str, *, most: int) -> bytes | None:
        content = self._content(url)
        return None if content is None else content[:most]

    def write(self, key: str, content: bytes, *, media_type: str | None = None) -> None:
        self._ask()
        self.contents[self.url(key)] = content
        self.media_types[self.url(key)] = media_type

    def _content(self, url: str) -> bytes | None:
        self._ask()
        return self.contents.get(url)

    def _ask(self) -> None:
        if self.is_away:
            raise StoreUnavailable(STORE, "it is set to be unavailable")
