"""The environment, and the secrets that it names, read once; complaints all at once."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Protocol, Self, TypeVar

from taskmill.adapters import crash, secrets
from taskmill.adapters.access import (
    Access,
    Credentials,
    KafkaAccess,
    PostgresAccess,
    RedisAccess,
    S3Access,
    Way,
)
from taskmill.domain.errors import SettingsInvalid
from taskmill.domain.outbox import OUTBOX_CAP
from taskmill.domain.pace import USUAL, Pace
from taskmill.domain.retention import AT_LEAST_KEPT, LEDGER_DAYS

_PREFIX = "TASKMILL_"
_ADDRESSES = {"KAFKA": "KAFKA_BROKERS", "REDIS": "REDIS_URL", "POSTGRES": "POSTGRES_DSN"}
_WHOLE = re.compile(r"-?[0-9]{1,12}")
_SCHEMES = {"KAFKA": "", "REDIS": "rediss://", "POSTGRES": "postgresql://"}

W = TypeVar("W", bound=Way)


class ReadByName(Protocol):
    def __call__(self, name: str, *, fresh: bool = False) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """Where secrets and parameters are read by their names."""

    secret: ReadByName = secrets.read_secret
    parameter: ReadByName = secrets.read_parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    kafka: Access[KafkaAccess]
    redis: Access[RedisAccess]
    postgres: Access[PostgresAccess]
    read_api_keys: Callable[[], str] | None
    """Gives the hashes of the API keys; None leaves the gateway open."""

    s3: S3Access
    """Where payloads and results are that are too large for the log."""

    shards: int
    waiting_places: int
    """How many requests of the gateway may wait for a task's end at a time."""

    pace: Pace

    outbox_cap: int
    """How many tasks may wait in the outbox while Kafka is away."""

    keeps: timedelta
    """How long the ledger keeps what has ended."""

    namespace: str
    """Where CloudWatch keeps what is counted: each deployment its own."""

    read_webhook_secrets: Callable[[], str] = str
    """Gives what webhooks are signed with, by name."""

    webhook_ca_file: str = ""
    reaches_loopback: bool = False
    """Whether webhooks may call this machine: on a machine of one's own only."""

    crash_at: crash.CrashAt | None = None
    """Where this process ends itself, for tests on the local platform."""

    clock_ahead: timedelta = timedelta()
    """How far this process's clock is wrong, for tests on the local platform."""

    @classmethod
    def from_env(
        cls, env: Mapping[str, str], *, needs: tuple[str, ...], vault: Vault | None = None
    ) -> Self:
        """Read the settings, or name everything that is missing or wrong.

        What is not among the *needs* ("kafka", "redis", "postgres", "s3", "api_keys",
        "webhooks") is not read.
        """
        reading = _Reading(env, needs, vault or Vault())
        settings = cls(
            kafka=reading.access("KAFKA", _kafka),
            redis=reading.access("REDIS", _redis),
            postgres=reading.access("POSTGRES", _postgres),
            read_api_keys=reading.api_keys(),
            s3=reading.s3(),
            shards=reading.whole("SHARDS", "64"),
            waiting_places=reading.whole("WAITING_PLACES", "0"),
            outbox_cap=reading.whole("OUTBOX_CAP", str(OUTBOX_CAP)),
            keeps=reading.keeps(),
            namespace=reading.text("NAMESPACE", "taskmill"),
            read_webhook_secrets=reading.webhook_secrets(),
            webhook_ca_file=reading.file("WEBHOOK_CA_FILE"),
            reaches_loopback=reading.reaches_loopback(),
            crash_at=reading.crash_at(),
            clock_ahead=reading.clock_ahead(),
            pace=reading.pace(),
        )
        if reading.complaints:
            raise SettingsInvalid("; ".join(reading.complaints))
        return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What the environment and its secrets tell about one store."""

    address: str = ""
    credentials: Credentials = field(default_factory=Credentials)
    security: str = ""
    cache: str = ""
    ca_file: str = ""


def _kafka(told: _Told) -> KafkaAccess:
    return KafkaAccess(
        brokers=told.address,
        security=told.security or "PLAINTEXT",
        credentials=told.credentials,
        ca_file=told.ca_file,
    )


def _redis(told: _Told) -> RedisAccess:
    return RedisAccess(
        url=told.address,
        cache=told.cache,
        credentials=told.credentials,
        ca_file=told.ca_file,
    )


def _postgres(told: _Told) -> PostgresAccess:
    return PostgresAccess(dsn=told.address, credentials=told.credentials, ca_file=told.ca_file)


class _Reading:
    """One reading of the environment, which goes on after a complaint."""

    def __init__(self, env: Mapping[str, str], needs: tuple[str, ...], vault: Vault) -> None:
        self.complaints: list[str] = []
        self._env = env
        self._needs = needs
        self._vault = vault
        self._away: list[str] = []

    def access(self, store: str, make: Callable[[_Told], W]) -> Access[W]:
        if store.lower() not in self._needs:
            return Access(make(_Told()))
        read = partial(self._read, store, make)
        try:
            way = read()
        except SettingsInvalid as error:
            self.complaints.append(str(error))
            return Access(make(_Told()))
        if not way.is_local:
            self._away.append(_PREFIX + _ADDRESSES[store])
        return Access(way, partial(read, fresh=True))

    def s3(self) -> S3Access:
        """Read where the bucket is; what signs for it is in the environment as the role's."""
        access = S3Access(
            bucket=self._given("BUCKET"),
            region=self._env.get("AWS_REGION", "us-east-1"),
            endpoint=self._given("BUCKET_ENDPOINT"),
            credentials=Credentials(
                username=self._env.get("AWS_ACCESS_KEY_ID", ""),
                password=self._env.get("AWS_SECRET_ACCESS_KEY", ""),
            ),
            token=self._env.get("AWS_SESSION_TOKEN", ""),
        )
        if "s3" in self._needs:
            self.complaints += access.complaints()
        return access

    def api_keys(self) -> Callable[[], str] | None:
        if "api_keys" not in self._needs:
            return None
        if self._given("OPEN") != "1":
            if self._given("API_KEYS_SECRET"):
                return partial(self._named, "API_KEYS_SECRET", self._vault.secret, fresh=True)
            self.complaints.append(
                f"{_PREFIX}API_KEYS_SECRET is missing: without keys the gateway does not start"
            )
        elif _is_deployed(self._env):
            self.complaints.append(
                f"{_PREFIX}OPEN is for the local runtime only: take it away, and name API keys"
            )
        elif self._away:
            self.complaints.append(
                f"{_PREFIX}OPEN is for stores on this machine only, and {', '.join(self._away)} "
                "leads elsewhere: take it away, and name API keys"
            )
        return None

    def webhook_secrets(self) -> Callable[[], str]:
        if "webhooks" not in self._needs:
            return str
        if file := self._given("WEBHOOK_SECRET_FILE"):
            if self._is_at_home("WEBHOOK_SECRET_FILE"):
                return partial(_text_of, Path(file))
        elif self._given("WEBHOOK_SECRET"):
            return partial(self._named, "WEBHOOK_SECRET", self._vault.secret, fresh=True)
        else:
            self.complaints.append(
                f"{_PREFIX}WEBHOOK_SECRET is missing: it names what webhooks are signed with"
            )
        return str

    def reaches_loopback(self) -> bool:
        return self._given("WEBHOOK_LOOPBACK") == "1" and self._is_at_home("WEBHOOK_LOOPBACK")

    def _is_at_home(self, name: str) -> bool:
        """Complain about a setting of the local runtime in a stage that is deployed."""
        is_away = _is_deployed(self._env) or bool(self._away)
        if is_away:
            self.complaints.append(f"{_PREFIX}{name} is for the local runtime only: take it away")
        return not is_away

    def file(self, name: str) -> str:
        path = self._given(name)
        if path and not Path(path).is_file():
            self.complaints.append(f"{_PREFIX}{name} is {path!r}, where no file is")
        return path

    def text(self, name: str, default: str) -> str:
        return self._given(name) or default

    def crash_at(self) -> crash.CrashAt | None:
        if text := self._for_tests("CRASH_AT"):
            try:
                return crash.crash_at(text)
            except ValueError as error:
                self.complaints.append(f"{_PREFIX}CRASH_AT {error}")
        return None

    def clock_ahead(self) -> timedelta:
        text = self._for_tests("CLOCK_AHEAD_MS") or "0"
        if _WHOLE.fullmatch(text):
            return timedelta(milliseconds=int(text))
        self.complaints.append(
            f"{_PREFIX}CLOCK_AHEAD_MS must be a whole number, below zero for behind, not {text!r}"
        )
        return timedelta()

    def _for_tests(self, name: str) -> str:
        """Return what only tests of the local runtime may set."""
        text = self._given(name)
        if text and (_is_deployed(self._env) or self._away):
            self.complaints.append(
                f"{_PREFIX}{name} is for tests of the local runtime only: take it away"
            )
            return ""
        return text

    def whole(self, name: str, default: str, *, least: int = 0) -> int:
        text = self._given(name) or default
        if not (text.isascii() and text.isdecimal()):
            self.complaints.append(f"{_PREFIX}{name} must be a whole number, not {text!r}")
            return 0
        if int(text) < least:
            self.complaints.append(f"{_PREFIX}{name} must be {least} at least, not {text}")
        return int(text)

    def keeps(self) -> timedelta:
        days = self.whole("RETENTION_DAYS", str(LEDGER_DAYS), least=AT_LEAST_KEPT.days)
        return timedelta(days=days)

    def pace(self) -> Pace:
        """Read how fast the clockwork goes; what is not said goes as usual."""
        told: dict[str, timedelta] = {}
        for name in (one.name for one in fields(Pace)):
            usually = getattr(USUAL, name) // timedelta(milliseconds=1)
            told[name] = timedelta(milliseconds=self.whole(f"{name.upper()}_MS", str(usually)))
        if told["heartbeat"] * 2 > told["lease"]:
            self.complaints.append(
                f"{_PREFIX}HEARTBEAT_MS must be at most half of {_PREFIX}LEASE_MS: "
                "a lease must outlive a heartbeat that is late"
            )
        return Pace(**told)

    def _read(self, store: str, make: Callable[[_Told], W], *, fresh: bool = False) -> W:
        try:
            way = make(self._tell(store, fresh=fresh))
            complaints = list(way.complaints())
        except ValueError:  # of brackets that open and never close
            complaints = [f"{_PREFIX}{_ADDRESSES[store]} cannot be understood"]
        if complaints:
            raise SettingsInvalid("; ".join(complaints))
        return way

    def _tell(self, store: str, *, fresh: bool) -> _Told:
        secret = _fields(self._named(f"{store}_SECRET", self._vault.secret, fresh=fresh), store)
        address = self._address(_ADDRESSES[store], fresh=fresh)
        address = address or secret.get("address") or _composed(store, secret)
        if not address:
            raise SettingsInvalid(f"{_PREFIX}{_ADDRESSES[store]} is missing")
        return _Told(
            address=address,
            credentials=Credentials(
                username=secret.get("username", ""), password=secret.get("password", "")
            ),
            security=self._given(f"{store}_SECURITY"),
            cache=self._given(f"{store}_CACHE"),
            ca_file=self._given(f"{store}_CA_FILE"),
        )

    def _address(self, setting: str, *, fresh: bool) -> str:
        if plain := self._given(setting):
            if self._given(f"{setting}_PARAMETER"):
                both = f"{_PREFIX}{setting} and {_PREFIX}{setting}_PARAMETER"
                raise SettingsInvalid(f"{both} tell the same: set one of them")
            return plain
        return self._named(f"{setting}_PARAMETER", self._vault.parameter, fresh=fresh)

    def _named(self, setting: str, read: ReadByName, *, fresh: bool) -> str:
        """Read the text whose name *setting* tells; nothing where it tells none."""
        name = self._given(setting)
        try:
            return read(name, fresh=fresh) if name else ""
        except SettingsInvalid as error:
            raise SettingsInvalid(f"{_PREFIX}{setting}: {error}") from error

    def _given(self, name: str) -> str:
        return self._env.get(_PREFIX + name, "")


def _text_of(file: Path) -> str:
    """Read a file that may come later, and need not be there."""
    return file.read_text() if file.is_file() else ""


def _fields(text: str, store: str) -> dict[str, str]:
    """Read a secret: an address as it is, or an object as AWS writes and rotates them."""
    if not text.lstrip().startswith("{"):
        return {"address": text.strip()}
    try:
        return {name: str(value) for name, value in json.loads(text).items()}
    except ValueError:
        # Without the cause: its words may hold a part of the secret.
        raise SettingsInvalid(f"the secret of {_PREFIX}{store}_SECRET is no JSON object") from None


def _composed(store: str, secret: Mapping[str, str]) -> str:
    if "host" not in secret:
        return ""
    port = f":{secret['port']}" if "port" in secret else ""
    path = f"/{secret['dbname']}" if "dbname" in secret else ""
    return _SCHEMES[store] + secret["host"] + port + path


def _is_deployed(env: Mapping[str, str]) -> bool:
    """Look for what the real platform always sets, and no template can take away."""
    return "AWS_SESSION_TOKEN" in env or env.get("LAMBDA_TASK_ROOT") == "/var/task"
