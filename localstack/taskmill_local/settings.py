"""Settings of the local platform, read from the environment once; reports all problems together."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final, Self

from taskmill.settings.access import KafkaAccess, PostgresAccess, RedisAccess, Way
from taskmill.settings.known import known, misspelt
from taskmill_local.errors import PlatformError
from taskmill_local.mappings.limits import Limits
from taskmill_local.plan import FunctionPlan
from taskmill_local.stores.start import External, Ports

TEMPLATE: Final = "template.yaml"
GATEWAY: Final = "Gateway"
SCHEDULER: Final = "Scheduler"
EVERYWHERE: Final[Mapping[str, str]] = {"TASKMILL_OPEN": "1"}
"""Variables of every function here: the API requires no key."""

SHARDS: Final = 4  # one process serves all of them here; more would only cost round trips
DEFAULT_PORT: Final = 8080
_HIGHEST_PORT: Final = 65_535
_MOST_ENVIRONMENTS: Final = 100
# Environments of a function on a laptop; the scheduler's runs overlap by design.
_CONCURRENCY: Final[Mapping[str, int]] = {GATEWAY: 8, SCHEDULER: 3}
_CONCURRENCY_OF_OTHERS: Final = 2
_LONGEST_BACKOFF: Final = 60
_PORTS: Final = ("KAFKA", "REDIS", "POSTGRES", "BUCKET")
PORT_SETTINGS: Final = frozenset(f"TASKMILL_{store}_PORT" for store in _PORTS)
"""Of the stores that we start; 0, the default, means the port of the last start."""

_PACE: Final = re.compile(r"TASKMILL_[A-Z_]+_MS")


class SettingsRefused(PlatformError):
    """An environment variable has an invalid value."""


class ProjectMissing(PlatformError):
    """There is no project to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    root: Path
    """The folder of the project to run."""

    home: Path
    port: int
    external: External
    ports: Ports = field(default_factory=Ports)
    concurrency: int = _CONCURRENCY_OF_OTHERS
    durable: bool = True
    """Off only in tests: PostgreSQL then survives its own crash, but not that of the machine."""

    limits: Limits = field(default_factory=Limits)
    """Buffer limits and back-off of mappings."""

    reaches_loopback: bool = False
    """Whether webhooks may call receivers on this machine."""

    pace: Mapping[str, str] = field(default_factory=dict)
    """Lengths of leases, heartbeats and ticks; the functions validate them."""

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] = os.environ, *, folder: Path | None = None
    ) -> Self:
        folder = folder or Path.cwd()
        complaints = list(misspelt(environment))
        whole = _reader(environment, complaints)
        port = whole("TASKMILL_PORT", DEFAULT_PORT, 0, _HIGHEST_PORT)
        concurrency = whole("TASKMILL_CONCURRENCY", _CONCURRENCY_OF_OTHERS, 1, _MOST_ENVIRONMENTS)
        ports = {
            name.lower(): whole(f"TASKMILL_{name}_PORT", 0, 0, _HIGHEST_PORT) for name in _PORTS
        }
        durable = whole("TASKMILL_DURABLE", 1, 0, 1)
        usual = Limits().longest_delay // timedelta(seconds=1)
        backoff = whole("TASKMILL_BACKOFF_SECONDS", usual, 1, _LONGEST_BACKOFF)
        reaches_loopback = whole("TASKMILL_WEBHOOK_LOOPBACK", 0, 0, 1)
        external = External.from_environment(environment)
        complaints += _foreign(external)
        if complaints:
            raise SettingsRefused("; ".join(complaints) + ".")
        root = _root(environment, folder)
        home = environment.get("TASKMILL_HOME")
        return cls(
            root=root,
            home=folder / home if home else root / ".taskmill",
            port=port,
            external=external,
            ports=Ports(**{name: number or None for name, number in ports.items()}),
            concurrency=concurrency,
            durable=bool(durable),
            limits=Limits(longest_delay=timedelta(seconds=backoff)),
            reaches_loopback=bool(reaches_loopback),
            pace={name: value for name, value in environment.items() if _PACE.fullmatch(name)},
        )

    @property
    def webhook_secrets(self) -> Path:
        return self.home / "webhook_secrets.json"

    @property
    def for_functions(self) -> dict[str, str]:
        """Variables of every function in addition to those of the template."""
        loopback = {"TASKMILL_WEBHOOK_LOOPBACK": "1"} if self.reaches_loopback else {}
        file = {"TASKMILL_WEBHOOK_SECRET_FILE": str(self.webhook_secrets.absolute())}
        partitions = {"TASKMILL_WORKER_PARTITIONS": str(self.concurrency)}
        settings = {**EVERYWHERE, **self.pace, **partitions, **file, **loopback}
        # A setting of a deleted type's folder would be refused as misspelled.
        return {name: value for name, value in settings.items() if name in known()}

    def caps(self, functions: Mapping[str, FunctionPlan]) -> dict[str, int]:
        """Return the maximum number of environments for each function."""
        return {
            name: min(plan.concurrency, _CONCURRENCY.get(name, self.concurrency))
            for name, plan in functions.items()
        }


def _foreign(external: External) -> Iterator[str]:
    """Refuse remote stores, as the functions would: the local API requires no key."""
    ways: dict[str, Way] = {}
    if external.kafka_brokers:
        ways["TASKMILL_KAFKA_BROKERS"] = KafkaAccess(
            brokers=external.kafka_brokers,
            security="SSL",  # local addresses may use plaintext
        )
    if external.redis_url:
        ways["TASKMILL_REDIS_URL"] = RedisAccess(url=external.redis_url)
    if external.postgres_dsn:
        ways["TASKMILL_POSTGRES_DSN"] = PostgresAccess(dsn=external.postgres_dsn)
    for name, way in ways.items():
        try:
            yield from way.complaints()
            if not way.is_local:
                yield f"{name} must lead to this machine: the local system requires no API key"
        except ValueError:  # an unbalanced bracket
            yield f"{name} cannot be parsed"


def _root(environment: Mapping[str, str], folder: Path) -> Path:
    if setting := environment.get("TASKMILL_ROOT"):
        root = (folder / setting).resolve()
        if not (root / TEMPLATE).is_file():
            raise ProjectMissing(
                f"TASKMILL_ROOT is {root}, which has no {TEMPLATE}. Set it to the project's folder."
            )
        return root
    for candidate in (folder, *folder.parents):
        if (candidate / TEMPLATE).is_file():
            return candidate.resolve()
    raise ProjectMissing(
        f"There is no {TEMPLATE} in {folder} or a folder above it. "
        "Go to the project's folder, or set TASKMILL_ROOT to it."
    )


def _reader(
    environment: Mapping[str, str], complaints: list[str]
) -> Callable[[str, int, int, int], int]:
    def whole(name: str, default: int, least: int, most: int) -> int:
        text = environment.get(name) or str(default)
        if text.isascii() and text.isdecimal() and least <= int(text) <= most:
            return int(text)
        complaints.append(f"{name} must be a whole number from {least} to {most}, not {text!r}")
        return default

    return whole
