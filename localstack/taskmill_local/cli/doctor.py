"""Compares the ledger with Redis and tells what disagrees; it changes nothing."""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from taskmill.bootstrap import chores, process
from taskmill.domain.errors import SettingsInvalid, StoreUnavailable
from taskmill.domain.reconciliation import ABOUT, Diverged, Divergence
from taskmill.domain.retention import in_ms
from taskmill.domain.task import Millis
from taskmill.settings import Settings
from taskmill.usecases.reconcile import PATIENCE
from taskmill_local.cli.api import Api
from taskmill_local.cli.exits import Exit
from taskmill_local.errors import PlatformError
from taskmill_local.settings import SHARDS

_YOUNG: Final = timedelta(hours=1)
_EXAMPLES: Final = 3
_STORES: Final = {
    "TASKMILL_KAFKA_BROKERS": "Kafka",
    "TASKMILL_REDIS_URL": "Valkey",
    "TASKMILL_POSTGRES_DSN": "PostgreSQL",
}


def examine(environment: Mapping[str, str], url: str, *, as_json: bool) -> Exit:
    """Look twice, as the reconciler does, and tell what did not pass meanwhile."""
    try:
        settings = Settings.from_env(
            _addressed(environment, url), needs=("kafka", "redis", "postgres")
        )
        found = _look_twice(settings)
    except (SettingsInvalid, StoreUnavailable) as error:
        raise PlatformError(f"Nothing can be compared: {error}.") from error
    told = {kind: [_told(one) for one in members] for kind, members in _by_kind(found).items()}
    sys.stdout.write(f"{json.dumps(told) if as_json else _as_text(told)}\n")
    return Exit.OTHERWISE if found else Exit.DONE


def _addressed(environment: Mapping[str, str], url: str) -> Mapping[str, str]:
    """Fill in where the stores of the running local system are, unless they are named."""
    if any(name in environment for name in _STORES):
        return environment
    stores = Api(url).platform().body["stores"]
    found = {name: stores[store]["address"] for name, store in _STORES.items()}
    return {**environment, **found, "TASKMILL_SHARDS": str(SHARDS)}


def _look_twice(settings: Settings) -> Sequence[Diverged]:
    reconciler = chores.make_reconciler(settings)
    standings = reconciler.books.standings
    since_ms = Millis(process.clock() - in_ms(_YOUNG))
    reconciler.look(standings.young(since_ms=since_ms))
    if not reconciler.suspected:
        return []
    sys.stderr.write(
        f"{len(reconciler.suspected)} tasks may only take their time: "
        f"looking again in {PATIENCE.total_seconds():.0f} s.\n"
    )
    time.sleep(PATIENCE.total_seconds() + 1)
    return reconciler.look(standings.young(since_ms=since_ms))


def _by_kind(found: Sequence[Diverged]) -> Mapping[Divergence, Sequence[Diverged]]:
    kinds: dict[Divergence, list[Diverged]] = defaultdict(list)
    for one in found:
        kinds[one.kind].append(one)
    return kinds


def _told(one: Diverged) -> dict[str, Any]:
    ledger, seen = one.standing, one.seen
    record = None
    if seen is not None:
        record = {"status": seen.status, "generation": seen.generation, "turn": seen.turn}
    return {
        "id": ledger.id,
        "type": ledger.type,
        "ledger": {
            "status": ledger.status,
            "generation": ledger.generation,
            "turn": ledger.turn,
        },
        "record": record,
    }


def _as_text(told: Mapping[Divergence, Sequence[Mapping[str, Any]]]) -> str:
    if not told:
        return "The ledger and Redis agree on every task that was looked at."
    lines: list[str] = []
    for kind, members in told.items():
        meaning, remedy = ABOUT[kind]
        lines.append(f"{kind}: {len(members)} tasks, {meaning}")
        lines.append(f"  the scheduler would {remedy}")
        lines += [f"  e.g. {_example(one)}" for one in members[:_EXAMPLES]]
    return "\n".join(lines)


def _example(one: Mapping[str, Any]) -> str:
    record = one["record"]
    known = f"{record['status']} in turn {record['turn']}" if record else "no record"
    ledger = one["ledger"]
    return (
        f"{one['id']} ({one['type']}): ledger {ledger['status']} in turn {ledger['turn']},"
        f" Redis {known}"
    )
