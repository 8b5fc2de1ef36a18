"""Every variable that begins with our prefix; any other counts as misspelled and is refused."""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

PREFIX: Final = "TASKMILL_"

STORES: Final = ("KAFKA_BROKERS", "REDIS_URL", "POSTGRES_DSN")

_FUNCTIONS: Final = (
    "KAFKA_SECRET REDIS_SECRET POSTGRES_SECRET KAFKA_SECURITY REDIS_CACHE"
    " KAFKA_CA_FILE REDIS_CA_FILE POSTGRES_CA_FILE BUCKET BUCKET_ENDPOINT"
    " API_KEYS_SECRET OPEN SHARDS WAITING_PLACES OUTBOX_CAP RETENTION_DAYS NAMESPACE"
    " WORKER_PARTITIONS"
    " LEASE_MS HEARTBEAT_MS SETTLE_MS MARGIN_MS HOLD_MS TICK_MS CRASH_AT CLOCK_AHEAD_MS"
)
_LOCAL_PLATFORM: Final = (
    "HOME PORT ROOT URL CONCURRENCY DURABLE BACKOFF_SECONDS POSTGRES_OWNER_DSN"
    " KAFKA_PORT REDIS_PORT POSTGRES_PORT BUCKET_PORT"
)
_TESTS: Final = "EVERY_ZONE FIGURES"

_OF_EVERY_TYPE: Final = frozenset(
    PREFIX + name
    for name in (
        *STORES,
        *(f"{name}_PARAMETER" for name in STORES),
        *_FUNCTIONS.split(),
        *_LOCAL_PLATFORM.split(),
        *_TESTS.split(),
    )
)


@cache
def known() -> frozenset[str]:
    """Return every setting, including those that types' folders declare for themselves."""
    declared = Path(__file__).with_name("of_types.json").read_bytes()
    of_types = msgspec.json.decode(declared, type=dict[str, list[str]])
    return _OF_EVERY_TYPE.union(*of_types.values())


def misspelt(names: Iterable[str]) -> Iterator[str]:
    """Refuse each unknown name with our prefix and suggest the nearest known one."""
    ours = {name for name in names if name.startswith(PREFIX)}
    for name in sorted(ours - known()):
        yield f"{name} is not a setting{_nearest(name)}"


def _nearest(name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for a misspelled name

    candidates = sorted(one.removeprefix(PREFIX) for one in known())
    near = get_close_matches(name.removeprefix(PREFIX), candidates, n=1, cutoff=0.7)
    return f", but {PREFIX}{near[0]} is" if near else ""
