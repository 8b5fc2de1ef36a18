"""Writes the page of settings: every variable that is read, and every parameter of the stack."""

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
"""A name without its prefix; what it means, and its default."""

_MILLISECOND: Final = timedelta(milliseconds=1)

_ABOUT = f"""
A function reads its environment once, when it starts. If anything is missing or wrong it refuses to
start and names everything at once. A variable that begins with `{PREFIX}` and is no setting counts
as a misspelling and is refused too, with the nearest name that is one: give the variables of your
own workers another prefix.

In a deployment the template sets all of these; you set the
[parameters of the stack](#parameters-of-the-stack). Set variables by hand only for stores of your
own.

Plaintext is spoken to loopback and nowhere else: a function that is told otherwise does not start.
"""

_RETENTION = (
    "days for which the ledger keeps what has ended: tasks (dead ones too), history, quarantine,"
    " sent rows of the outbox, enqueued requests that are done or parked;"
    f" at least {AT_LEAST_KEPT.days}"
)
STORES: Final[Rows] = {
    "KAFKA_BROKERS": ("Kafka's bootstrap servers, separated by commas", ""),
    "REDIS_URL": ("where Redis is: `redis://` or `rediss://`", ""),
    "POSTGRES_DSN": ("where the ledger is; a password comes from the secret", ""),
    "KAFKA_BROKERS_PARAMETER": ("the SSM parameter that holds the address instead", ""),
    "REDIS_URL_PARAMETER": ("the SSM parameter that holds the address instead", ""),
    "POSTGRES_DSN_PARAMETER": ("the SSM parameter that holds the address instead", ""),
    "KAFKA_SECRET": (
        "a secret with `username` and `password`; read anew when Kafka refuses it",
        "",
    ),
    "REDIS_SECRET": (
        "a secret with `username` and `password`; read anew when Redis refuses it",
        "",
    ),
    "POSTGRES_SECRET": (
        "a secret with `username` and `password`; read anew when PostgreSQL refuses it",
        "",
    ),
    "KAFKA_SECURITY": ("`PLAINTEXT`, `SSL`, `SCRAM-SHA-512` or `AWS_MSK_IAM`", "PLAINTEXT"),
    "REDIS_CACHE": ("the serverless cache whose user logs in by IAM", ""),
    "KAFKA_CA_FILE": ("authorities for Kafka's certificate, instead of the system's", ""),
    "REDIS_CA_FILE": ("authorities for Redis's certificate, instead of the system's", ""),
    "POSTGRES_CA_FILE": ("authorities for PostgreSQL's certificate, instead of the system's", ""),
    "BUCKET": ("the bucket for large payloads and results; the role signs links to it", ""),
    "BUCKET_ENDPOINT": ("an S3 endpoint other than that of AWS", ""),
}
GATEWAY: Final[Rows] = {
    "API_KEYS_SECRET": ("the secret with the hashes of the API keys", ""),
    "OPEN": (
        "`1` asks for no keys: set by the local platform, refused in a deployment",
        "",
    ),
    "WAITING_PLACES": ("requests that may wait for a task's end at a time", "0"),
}
QUEUE: Final[Rows] = {
    "SHARDS": ("slices of the Redis keys; another number empties every shard", "64"),
    "OUTBOX_CAP": (
        "tasks that may wait in the outbox while Kafka is away; beyond it the gateway answers 503",
        str(OUTBOX_CAP),
    ),
    "RETENTION_DAYS": (
        _RETENTION,
        str(LEDGER_DAYS),
    ),
    "NAMESPACE": (
        "the namespace of CloudWatch for metrics; the template gives each stack its own",
        "taskmill",
    ),
}
PACE: Final[Rows] = {
    "LEASE_MS": ("how long a worker owns a turn without a heartbeat", ""),
    "HEARTBEAT_MS": ("how often a worker renews its leases; at most half a lease", ""),
    "SETTLE_MS": ("how long an ended attempt may wait to be settled with others", ""),
    "MARGIN_MS": ("what an invocation keeps back for settling and flushing", ""),
    "HOLD_MS": ("how long the one who decided may take to publish, before the scheduler does", ""),
    "TICK_MS": ("how often the scheduler looks for what is due", ""),
}
LOCAL: Final[Rows] = {
    "PORT": ("where the local system listens; `0` takes any free port", str(DEFAULT_PORT)),
    "KAFKA_PORT": ("the broker's port; without it the one of the last start, when free", ""),
    "REDIS_PORT": ("Valkey's port, likewise", ""),
    "POSTGRES_PORT": ("PostgreSQL's port, likewise", ""),
    "BUCKET_PORT": ("the bucket's port, likewise", ""),
    "HOME": ("the folder of its data and logs", ".taskmill in the project"),
    "ROOT": ("the project that runs", "the folder with `template.yaml`, here or above"),
    "URL": ("where `taskmill` sends its requests", "http://127.0.0.1:$TASKMILL_PORT"),
    "CONCURRENCY": ("processes of each function at most; the gateway has 8", "2"),
    "BACKOFF_SECONDS": ("how long a batch that failed waits at most to be tried again", "5"),
    "POSTGRES_OWNER_DSN": (
        "the ledger of your own, as the role that owns it",
        "TASKMILL_POSTGRES_DSN",
    ),
    "DURABLE": ("`0` lets PostgreSQL skip fsync, for tests", "1"),
}
TESTS: Final[Rows] = {
    "CRASH_AT": ("`<point>:<nth>` ends the process at a named line", ""),
    "CLOCK_AHEAD_MS": ("how far the process's clock is wrong", "0"),
    "EVERY_ZONE": ("`1` compares every time zone hour by hour", ""),
    "FIGURES": ("a file that gets the figures of the fault tests as JSON", ""),
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
    "Pace": "The same for all functions of a system. Shorten them only in tests.",
    "Local system": (
        "For `taskmill up` and the commands beside it. The variables of stores above point it to"
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
    shown = [
        [code(PREFIX + name), sentence(about), _default(name, default)]
        for name, (about, default) in rows.items()
    ]
    note = [_NOTES[title]] if title in _NOTES else []
    return "\n\n".join([f"## {title}", *note, table(["variable", "meaning", "default"], shown)])


def _default(name: str, default: str) -> str:
    if name in PACE:
        span: timedelta = getattr(USUAL, name.removesuffix("_MS").lower())
        return code(str(span // _MILLISECOND))
    return default if " " in default else code(default) if default else ""


def _parameters(template: str) -> str:
    rows = list(_parameter_rows(template))
    about = (
        "Given in `samconfig.toml`, for each stage. An empty default means: the stack makes its"
        " own, or goes without."
    )
    heads = ["parameter", "meaning", "default"]
    return "\n\n".join(["## Parameters of the stack", about, table(heads, rows)])


def _parameter_rows(template: str) -> Iterator[list[str]]:
    """Read the one section that has no functions of CloudFormation, which YAML does not know."""
    _, _, rest = template.partition("\nParameters:\n")
    section = rest[: rest.index("\nRules:")]
    for name, one in yaml.safe_load(section).items():
        default = str(one.get("Default", ""))
        yield [code(name), sentence(one["Description"]), code(default) if default else ""]
