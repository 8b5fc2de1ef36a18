"""Uploads reports with boto3, which only this function bundles."""
# ruff: noqa: PLC0415 - boto3 is slow to import: the first report pays, not the start

from base64 import b64encode
from functools import cache
from hashlib import sha256
from threading import Lock
from typing import Any, Final

from taskmill.platform import process

SECONDS_TO_CONNECT: Final = 2
SECONDS_TO_ANSWER: Final = 15

_opening: Final = Lock()


def put(key: str, content: bytes) -> str:
    """Upload the file, replacing an earlier one, and return its location."""
    with _opening:
        client = _client()
    client.put_object(
        Bucket=process.bucket().bucket,
        Key=key,
        Body=content,
        ContentType="text/csv; charset=utf-8",
        ChecksumSHA256=b64encode(sha256(content).digest()).decode(),
    )
    return f"s3://{process.bucket().bucket}/{key}"


@cache
def _client() -> Any:
    from boto3 import Session
    from botocore.config import Config

    config = Config(
        connect_timeout=SECONDS_TO_CONNECT,
        read_timeout=SECONDS_TO_ANSWER,
        retries={"total_max_attempts": 3, "mode": "standard"},
    )
    return Session().client("s3", endpoint_url=process.bucket().endpoint or None, config=config)
