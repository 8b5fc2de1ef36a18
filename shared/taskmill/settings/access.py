"""Credentials of each store, reread when the store rejects them."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar
from urllib.parse import urlsplit

from taskmill.core.errors import SettingsInvalid
from taskmill.settings import addresses

T = TypeVar("T")
C = TypeVar("C")

_log = logging.getLogger("taskmill.access")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Empty where the address itself, or a role, opens the store."""

    username: str = ""
    password: str = field(default="", repr=False)

    @property
    def are_whole(self) -> bool:
        return bool(self.username and self.password)


class Way(Protocol):
    """The address of one store and the credentials for it."""

    @property
    def is_local(self) -> bool:
        """Whether this connection never leaves the machine."""
        ...

    def complaints(self) -> Iterator[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaAccess:
    brokers: str
    security: str = "PLAINTEXT"
    credentials: Credentials = Credentials()
    ca_file: str = ""

    @property
    def is_local(self) -> bool:
        return all(map(addresses.is_loopback, addresses.kafka_hosts(self.brokers)))

    def complaints(self) -> Iterator[str]:
        yield from addresses.kafka_complaints(self.brokers, self.security)
        if self.security == addresses.SCRAM and not self.credentials.are_whole:
            yield (
                f"TASKMILL_KAFKA_SECURITY is {addresses.SCRAM}: set a secret that holds username "
                "and password in TASKMILL_KAFKA_SECRET"
            )
        yield from _missing_file("TASKMILL_KAFKA_CA_FILE", self.ca_file)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisAccess:
    url: str = field(repr=False)
    cache: str = ""
    """Name of an ElastiCache Serverless cache whose user logs in by IAM; else empty."""
    credentials: Credentials = Credentials()
    ca_file: str = ""

    @property
    def is_local(self) -> bool:
        return addresses.is_loopback(addresses.redis_host(self.url))

    def complaints(self) -> Iterator[str]:
        yield from addresses.redis_complaints(self.url)
        yield from _missing_file("TASKMILL_REDIS_CA_FILE", self.ca_file)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresAccess:
    dsn: str = field(repr=False)
    credentials: Credentials = Credentials()
    ca_file: str = ""

    @property
    def is_local(self) -> bool:
        return all(map(addresses.is_loopback, addresses.postgres_hosts(self.dsn)))

    @property
    def must_verify(self) -> bool:
        """Whether to verify the server's name: always remotely, locally on request."""
        return addresses.asks_to_verify(self.dsn) or not self.is_local

    def complaints(self) -> Iterator[str]:
        yield from addresses.postgres_complaints(self.dsn)
        yield from _missing_file("TASKMILL_POSTGRES_CA_FILE", self.ca_file)


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Access:
    bucket: str
    region: str = "us-east-1"
    endpoint: str = ""
    """Address of an S3 other than AWS's, with the bucket in the path."""
    credentials: Credentials = Credentials()
    token: str = field(default="", repr=False)

    def place(self, key: str) -> tuple[str, str]:
        """Return the start of the URL for *key*, and its path."""
        if self.endpoint:
            return self.endpoint.rstrip("/"), f"/{self.bucket}/{key}"
        return f"https://{self.bucket}.s3.{self.region}.amazonaws.com", f"/{key}"

    @property
    def is_local(self) -> bool:
        return addresses.is_loopback(urlsplit(self.endpoint).hostname or "")

    def complaints(self) -> Iterator[str]:
        if not self.bucket:
            yield "TASKMILL_BUCKET is missing: set it to the bucket for large payloads and results"
        parts = urlsplit(self.endpoint)
        if self.endpoint and (parts.scheme not in {"http", "https"} or not parts.hostname):
            yield "TASKMILL_BUCKET_ENDPOINT must look like https://s3.example.com"
        elif parts.scheme == "http" and not self.is_local:
            yield (
                f"TASKMILL_BUCKET_ENDPOINT is plaintext, which is not allowed for the remote host "
                f"{parts.hostname}: begin it with https://"
            )


def _missing_file(setting: str, file: str) -> Iterator[str]:
    if file and not Path(file).is_file():
        yield f"{setting} is {file!r}, but there is no such file"


class Access(Generic[T]):
    """The current credentials of a store; rereads a rotated secret when the old one fails."""

    def __init__(self, value: T, renew: Callable[[], T] | None = None) -> None:
        self.value = value
        self._renew = renew

    def open(self, connect: Callable[[T], C], is_refusal: Callable[[Exception], bool]) -> C:
        """Connect; when the store rejects the credentials, retry once with the current secret."""
        try:
            return connect(self.value)
        except Exception as error:
            if not is_refusal(error) or not self._has_changed():
                raise
        return connect(self.value)

    def _has_changed(self) -> bool:
        if self._renew is None:
            return False
        try:
            before, self.value = self.value, self._renew()
        except SettingsInvalid as error:
            _log.warning("rejected secret could not be reloaded", extra={"why": str(error)})
            return False
        return self.value != before
