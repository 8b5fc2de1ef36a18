"""Reads the environment, and the secrets it names, once; reports all problems together."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Self

from taskmill.core.errors import SettingsInvalid
from taskmill.core.lifetimes import AT_LEAST_KEPT, LEDGER_DAYS
from taskmill.execution.pace import USUAL, Pace
from taskmill.settings import crash_points
from taskmill.settings.access import Access, KafkaAccess, PostgresAccess, RedisAccess, S3Access
from taskmill.settings.environment import Environment
from taskmill.settings.known import PREFIX
from taskmill.settings.stores import StoreSettings, Vault
from taskmill.submission.outbox import OUTBOX_CAP

_WHOLE = re.compile(r"-?[0-9]{1,12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    kafka: Access[KafkaAccess]
    redis: Access[RedisAccess]
    postgres: Access[PostgresAccess]
    s3: S3Access
    """Where payloads and results too large for the log are stored."""

    read_api_keys: Callable[[], str] | None
    """Returns the hashes of the API keys; None leaves the gateway open."""

    shards: int
    worker_partitions: int
    """How many partitions of a worker's topic are read at most; 0 for all."""

    waiting_places: int
    """How many requests to the gateway may wait for tasks at the same time."""

    pace: Pace

    outbox_cap: int
    """How many tasks may wait in the outbox while Kafka is unavailable."""

    keeps: timedelta
    """How long the ledger keeps ended tasks."""

    namespace: str
    """CloudWatch namespace for metrics; each deployment has its own."""

    reaches_loopback: bool = False
    """Whether webhooks may call this machine; only on a developer's machine."""

    crash_at: crash_points.CrashAt | None = None
    """Where this process crashes, for tests on the local platform."""

    clock_ahead: timedelta = timedelta()
    """Offset of this process's clock, for tests on the local platform."""

    @classmethod
    def from_env(
        cls, env: Mapping[str, str], *, needs: tuple[str, ...], vault: Vault | None = None
    ) -> Self:
        """Read the settings, or raise with everything that is missing or wrong.

        Stores outside *needs* ("kafka", "redis", "postgres", "s3", "api_keys") are not read.
        """
        environment = Environment(env)
        stores = StoreSettings(environment, needs, vault or Vault())
        reading = _Reading(environment, needs, stores)
        settings = cls(
            kafka=stores.kafka(),
            redis=stores.redis(),
            postgres=stores.postgres(),
            s3=stores.s3(),
            read_api_keys=reading.api_keys(),
            shards=environment.whole("SHARDS", "64"),
            worker_partitions=environment.whole("WORKER_PARTITIONS", "0"),
            waiting_places=environment.whole("WAITING_PLACES", "0"),
            outbox_cap=environment.whole("OUTBOX_CAP", str(OUTBOX_CAP)),
            keeps=reading.keeps(),
            namespace=environment.text("NAMESPACE", "taskmill"),
            reaches_loopback=environment.is_on_at_home("WEBHOOK_LOOPBACK"),
            crash_at=reading.crash_at(),
            clock_ahead=reading.clock_ahead(),
            pace=reading.pace(),
        )
        if environment.complaints:
            raise SettingsInvalid("; ".join(environment.complaints))
        return settings


class _Reading:
    """Settings with parsing rules of their own."""

    def __init__(
        self, environment: Environment, needs: tuple[str, ...], stores: StoreSettings
    ) -> None:
        self._environment = environment
        self._needs = needs
        self._stores = stores

    def api_keys(self) -> Callable[[], str] | None:
        env = self._environment
        if "api_keys" not in self._needs:
            return None
        if env.given("OPEN") != "1":
            if env.given("API_KEYS_SECRET"):
                return partial(self._stores.secret_of, "API_KEYS_SECRET", fresh=True)
            env.complain(
                "API_KEYS_SECRET", "is missing: the gateway does not start without API keys"
            )
        elif env.is_deployed:
            env.complain("OPEN", "is for the local runtime only: remove it and set API keys")
        elif env.away:
            env.complain(
                "OPEN",
                f"is for stores on this machine only, but {', '.join(env.away)} leads elsewhere:"
                " remove it and set API keys",
            )
        return None

    def crash_at(self) -> crash_points.CrashAt | None:
        if text := self._environment.for_tests("CRASH_AT"):
            try:
                return crash_points.crash_at(text)
            except ValueError as error:
                self._environment.complain("CRASH_AT", str(error))
        return None

    def clock_ahead(self) -> timedelta:
        text = self._environment.for_tests("CLOCK_AHEAD_MS") or "0"
        if _WHOLE.fullmatch(text):
            return timedelta(milliseconds=int(text))
        why = f"must be a whole number (negative for a slow clock), not {text!r}"
        self._environment.complain("CLOCK_AHEAD_MS", why)
        return timedelta()

    def keeps(self) -> timedelta:
        days = self._environment.whole("RETENTION_DAYS", str(LEDGER_DAYS), least=AT_LEAST_KEPT.days)
        return timedelta(days=days)

    def pace(self) -> Pace:
        """Read the intervals of the protocol; missing ones get their defaults."""
        env = self._environment
        spans: dict[str, timedelta] = {}
        for name in Pace.__struct_fields__:
            usually = getattr(USUAL, name) // timedelta(milliseconds=1)
            spans[name] = timedelta(milliseconds=env.whole(f"{name.upper()}_MS", str(usually)))
        if spans["heartbeat"] * 2 > spans["lease"]:
            env.complain(
                "HEARTBEAT_MS",
                f"must be at most half of {PREFIX}LEASE_MS: a lease must outlive a late heartbeat",
            )
        return Pace(**spans)
