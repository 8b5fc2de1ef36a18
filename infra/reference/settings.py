"""Writes the settings page: every variable that is read, and every parameter of the stack."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

import yaml

from infra.reference.text import code, page, sentence, table
from infra.reference.types import references
from taskmill.core.lifetimes import AT_LEAST_KEPT, LEDGER_DAYS
from taskmill.execution.pace import USUAL
from taskmill.settings.known import PREFIX
from taskmill.submission.outbox import OUTBOX_CAP
from taskmill_local.settings import DEFAULT_PORT

Rows = Mapping[str, tuple[str, str]]
"""A name without its prefix, its meaning and its default."""

_MILLISECOND: Final = timedelta(milliseconds=1)

_ABOUT = f"""
A function reads its environment once, when it starts. If anything is missing or wrong it refuses to
start and lists every problem at once. An unknown variable that begins with `{PREFIX}` counts
as misspelled and is refused too, with the nearest known name: give the variables of your
own workers a different prefix.

In a deployment the template sets all of these; you set the
[parameters of the stack](#parameters-of-the-stack). Set variables by hand only for stores of your
own.

Plaintext connections are allowed to loopback only: a function configured otherwise does not start.
"""

_RETENTION = (
    "days to keep finished data in the ledger: tasks (including dead ones), history, quarantine,"
    " sent outbox rows, enqueued requests that are done or parked;"
    f" at least {AT_LEAST_KEPT.days}"
)
STORES: Final[Rows] = {
    "KAFKA_BROKERS": ("Kafka's bootstrap servers, separated by commas", ""),
    "REDIS_URL": ("address of Redis: `redis://` or `rediss://`", ""),
    "POSTGRES_DSN": ("address of the ledger; the password comes from the secret", ""),
    "KAFKA_BROKERS_PARAMETER": ("SSM parameter that holds the address instead", ""),
    "REDIS_URL_PARAMETER": ("SSM parameter that holds the address instead", ""),
    "POSTGRES_DSN_PARAMETER": ("SSM parameter that holds the address instead", ""),
    "KAFKA_SECRET": (
        "secret with `username` and `password`; reread when Kafka rejects them",
        "",
    ),
    "REDIS_SECRET": (
        "secret with `username` and `password`; reread when Redis rejects them",
        "",
    ),
    "POSTGRES_SECRET": (
        "secret with `username` and `password`; reread when PostgreSQL rejects them",
        "",
    ),
    "KAFKA_SECURITY": ("`PLAINTEXT`, `SSL`, `SCRAM-SHA-512` or `AWS_MSK_IAM`", "PLAINTEXT"),
    "REDIS_CACHE": ("serverless cache whose user logs in by IAM", ""),
    "KAFKA_CA_FILE": ("CA file for Kafka's certificate, instead of the system's", ""),
    "REDIS_CA_FILE": ("CA file for Redis's certificate, instead of the system's", ""),
    "POSTGRES_CA_FILE": ("CA file for PostgreSQL's certificate, instead of the system's", ""),
    "BUCKET": ("bucket for large payloads and results; the role signs links to it", ""),
    "BUCKET_ENDPOINT": ("S3 endpoint to use instead of the one of AWS", ""),
}
GATEWAY: Final[Rows] = {
    "API_KEYS_SECRET": ("secret with the hashes of the API keys", ""),
    "OPEN": (
        "`1` requires no API keys: set by the local platform, refused in a deployment",
        "",
    ),
    "WAITING_PLACES": ("how many requests may wait for tasks at the same time", "0"),
}
QUEUE: Final[Rows] = {
    "SHARDS": ("number of Redis shards; changing it makes every shard cold", "64"),
    "WORKER_PARTITIONS": (
        "most partitions of a worker's topic that have a process, `0` for all: for few processes",
        "0",
    ),
    "OUTBOX_CAP": (
        "tasks that may wait in the outbox while Kafka is unavailable; more get 503",
        str(OUTBOX_CAP),
    ),
    "RETENTION_DAYS": (
        _RETENTION,
        str(LEDGER_DAYS),
    ),
    "NAMESPACE": (
        "CloudWatch namespace for metrics; the template gives each stack its own",
        "taskmill",
    ),
}
PACE: Final[Rows] = {
    "LEASE_MS": ("how long a worker owns a turn without a heartbeat", ""),
    "HEARTBEAT_MS": ("how often a worker renews its leases; at most half a lease", ""),
    "SETTLE_MS": ("how long an ended attempt may wait to be settled with others", ""),
    "MARGIN_MS": ("time that an invocation reserves for settling and flushing", ""),
    "HOLD_MS": ("how long a process may take to publish before the scheduler does it", ""),
    "TICK_MS": ("how often the scheduler looks for due entries", ""),
}
LOCAL: Final[Rows] = {
    "PORT": ("port of the local system; `0` takes any free port", str(DEFAULT_PORT)),
    "KAFKA_PORT": ("Kafka's port; by default that of the last start, if free", ""),
    "REDIS_PORT": ("Valkey's port, likewise", ""),
    "POSTGRES_PORT": ("PostgreSQL's port, likewise", ""),
    "BUCKET_PORT": ("the bucket's port, likewise", ""),
    "HOME": ("folder for data and logs", ".taskmill in the project"),
    "ROOT": ("folder of the project to run", "nearest folder with `template.yaml`"),
    "URL": ("address that `taskmill` sends requests to", "http://127.0.0.1:$TASKMILL_PORT"),
    "CONCURRENCY": (
        "maximum number of processes per function, and partitions per type; the gateway has 8",
        "2",
    ),
    "BACKOFF_SECONDS": ("longest wait before a failed batch is retried", "5"),
    "POSTGRES_OWNER_DSN": (
        "DSN of your own ledger, as the role that owns it",
        "TASKMILL_POSTGRES_DSN",
    ),
    "DURABLE": ("`0` lets PostgreSQL skip fsync, for tests", "1"),
}
TESTS: Final[Rows] = {
    "CRASH_AT": ("`<point>:<nth>` ends the process at a named crash point", ""),
    "CLOCK_AHEAD_MS": ("offset of the process's clock", "0"),
    "EVERY_ZONE": ("`1` compares every time zone hour by hour", ""),
    "FIGURES": ("file for the figures of the fault tests, as JSON", ""),
}
GROUPS: Final[Mapping[str, Rows]] = {
    "Stores": STORES,
    "Gateway": GATEWAY,
    "Queue": QUEUE,
    "Pace": PACE,
    **{one.TITLE: one.SETTINGS for one in references()},
    "Local system": LOCAL,
    "Tests": TESTS,
}
_NOTES: Final[Mapping[str, str]] = {
    "Pace": "Every function of a system must have the same values. Shorten them only in tests.",
    "Local system": (
        "For `taskmill up` and the other commands. The variables for stores above point it to"
        " stores of your own on this machine."
    ),
    "Tests": "Refused in a deployment.",
}


def names() -> set[str]:
    """Return every variable that the page describes."""
    return {PREFIX + name for rows in GROUPS.values() for name in rows}


def settings(template: str) -> str:
    """Return a table for each group, and the parameters of *template*."""
    parts = [_group(title, rows) for title, rows in GROUPS.items()]
    return page("Settings", _ABOUT, *parts, _parameters(template))


def _group(title: str, rows: Rows) -> str:
    cells = [
        [code(PREFIX + name), sentence(about), _default(name, default)]
        for name, (about, default) in rows.items()
    ]
    note = [_NOTES[title]] if title in _NOTES else []
    return "\n\n".join([f"## {title}", *note, table(["variable", "meaning", "default"], cells)])


def _default(name: str, default: str) -> str:
    if name in PACE:
        span: timedelta = getattr(USUAL, name.removesuffix("_MS").lower())
        return code(str(span // _MILLISECOND))
    return default if " " in default else code(default) if default else ""


def _parameters(template: str) -> str:
    rows = list(_parameter_rows(template))
    about = (
        "Set them for each stage in `samconfig.toml`. An empty default means that the stack creates"
        " its own resource or does without it."
    )
    heads = ["parameter", "meaning", "default"]
    return "\n\n".join(["## Parameters of the stack", about, table(heads, rows)])


def _parameter_rows(template: str) -> Iterator[list[str]]:
    """Read the one section without CloudFormation short forms, which plain YAML cannot parse."""
    _, _, rest = template.partition("\nParameters:\n")
    section = rest[: rest.index("\nRules:")]
    for name, one in yaml.safe_load(section).items():
        default = str(one.get("Default", ""))
        yield [code(name), sentence(one["Description"]), code(default) if default else ""]
