"""Addresses and credentials of the stores, from the environment, parameters and secrets."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from taskmill.core.errors import SettingsInvalid
from taskmill.settings import secrets
from taskmill.settings.access import (
    Access,
    Credentials,
    KafkaAccess,
    PostgresAccess,
    RedisAccess,
    S3Access,
    Way,
)
from taskmill.settings.environment import Environment
from taskmill.settings.known import PREFIX

_ADDRESSES = {"KAFKA": "KAFKA_BROKERS", "REDIS": "REDIS_URL", "POSTGRES": "POSTGRES_DSN"}
_SCHEMES = {"KAFKA": "", "REDIS": "rediss://", "POSTGRES": "postgresql://"}

W = TypeVar("W", bound=Way)


class ReadByName(Protocol):
    def __call__(self, name: str, *, fresh: bool = False) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """Reads secrets and parameters by name."""

    secret: ReadByName = secrets.read_secret
    parameter: ReadByName = secrets.read_parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoreSettings:
    """The configuration of one store from the environment and its secrets."""

    address: str = ""
    credentials: Credentials = field(default_factory=Credentials)
    security: str = ""
    cache: str = ""
    ca_file: str = ""


def _kafka(settings: _StoreSettings) -> KafkaAccess:
    return KafkaAccess(
        brokers=settings.address,
        security=settings.security or "PLAINTEXT",
        credentials=settings.credentials,
        ca_file=settings.ca_file,
    )


def _redis(settings: _StoreSettings) -> RedisAccess:
    return RedisAccess(
        url=settings.address,
        cache=settings.cache,
        credentials=settings.credentials,
        ca_file=settings.ca_file,
    )


def _postgres(settings: _StoreSettings) -> PostgresAccess:
    return PostgresAccess(
        dsn=settings.address, credentials=settings.credentials, ca_file=settings.ca_file
    )


class StoreSettings:
    """Stores outside *needs* are not read."""

    def __init__(self, environment: Environment, needs: tuple[str, ...], vault: Vault) -> None:
        self._environment = environment
        self._needs = needs
        self._vault = vault

    def kafka(self) -> Access[KafkaAccess]:
        return self._access("KAFKA", _kafka)

    def redis(self) -> Access[RedisAccess]:
        return self._access("REDIS", _redis)

    def postgres(self) -> Access[PostgresAccess]:
        return self._access("POSTGRES", _postgres)

    def s3(self) -> S3Access:
        """Read the bucket's address; signing uses the role's credentials from the environment."""
        env = self._environment
        access = S3Access(
            bucket=env.given("BUCKET"),
            region=env.raw.get("AWS_REGION", "us-east-1"),
            endpoint=env.given("BUCKET_ENDPOINT"),
            credentials=Credentials(
                username=env.raw.get("AWS_ACCESS_KEY_ID", ""),
                password=env.raw.get("AWS_SECRET_ACCESS_KEY", ""),
            ),
            token=env.raw.get("AWS_SESSION_TOKEN", ""),
        )
        if "s3" in self._needs:
            env.complaints += access.complaints()
        return access

    def secret_of(self, setting: str, *, fresh: bool = False) -> str:
        """Read the secret that *setting* names; an unset setting gives nothing."""
        return self._named(setting, self._vault.secret, fresh=fresh)

    def _access(self, store: str, make: Callable[[_StoreSettings], W]) -> Access[W]:
        if store.lower() not in self._needs:
            return Access(make(_StoreSettings()))
        read = partial(self._read, store, make)
        try:
            way = read()
        except SettingsInvalid as error:
            self._environment.complaints.append(str(error))
            return Access(make(_StoreSettings()))
        if not way.is_local:
            self._environment.away.append(PREFIX + _ADDRESSES[store])
        return Access(way, partial(read, fresh=True))

    def _read(self, store: str, make: Callable[[_StoreSettings], W], *, fresh: bool = False) -> W:
        try:
            way = make(self._settings_of(store, fresh=fresh))
            complaints = list(way.complaints())
        except ValueError:  # an unbalanced bracket
            complaints = [f"{PREFIX}{_ADDRESSES[store]} cannot be parsed"]
        if complaints:
            raise SettingsInvalid("; ".join(complaints))
        return way

    def _settings_of(self, store: str, *, fresh: bool) -> _StoreSettings:
        secret = _fields(self.secret_of(f"{store}_SECRET", fresh=fresh), store)
        address = self._address(_ADDRESSES[store], fresh=fresh)
        address = address or secret.get("address") or _composed(store, secret)
        if not address:
            raise SettingsInvalid(f"{PREFIX}{_ADDRESSES[store]} is missing")
        text = self._environment.given
        return _StoreSettings(
            address=address,
            credentials=Credentials(
                username=secret.get("username", ""), password=secret.get("password", "")
            ),
            security=text(f"{store}_SECURITY"),
            cache=text(f"{store}_CACHE"),
            ca_file=text(f"{store}_CA_FILE"),
        )

    def _address(self, setting: str, *, fresh: bool) -> str:
        if plain := self._environment.given(setting):
            if self._environment.given(f"{setting}_PARAMETER"):
                both = f"{PREFIX}{setting} and {PREFIX}{setting}_PARAMETER"
                raise SettingsInvalid(f"{both} set the same value: set only one of them")
            return plain
        return self._named(f"{setting}_PARAMETER", self._vault.parameter, fresh=fresh)

    def _named(self, setting: str, read: ReadByName, *, fresh: bool) -> str:
        name = self._environment.given(setting)
        try:
            return read(name, fresh=fresh) if name else ""
        except SettingsInvalid as error:
            raise SettingsInvalid(f"{PREFIX}{setting}: {error}") from error


def _fields(text: str, store: str) -> dict[str, str]:
    """Read a secret: a plain address, or the object that AWS writes and rotates."""
    if not text.lstrip().startswith("{"):
        return {"address": text.strip()}
    try:
        return {name: str(value) for name, value in json.loads(text).items()}
    except ValueError:
        # Raised without its cause, whose message may contain part of the secret.
        raise SettingsInvalid(
            f"the secret of {PREFIX}{store}_SECRET is not a JSON object"
        ) from None


def _composed(store: str, secret: Mapping[str, str]) -> str:
    if "host" not in secret:
        return ""
    port = f":{secret['port']}" if "port" in secret else ""
    path = f"/{secret['dbname']}" if "dbname" in secret else ""
    return _SCHEMES[store] + secret["host"] + port + path
