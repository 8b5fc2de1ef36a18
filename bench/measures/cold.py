"""Time of a function from spawn to its first answer or first ended task, with compiled files."""

import asyncio
import json
import os
import re
import tempfile
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.figures import Figure
from bench.measures.load import a_task
from bench.memory import redis_of
from bench.project import BARE_PATH, TEMPLATE
from bench.sizes import Sizes
from bench.system import System
from taskmill.core import topics
from taskmill.core.task import Millis, TaskId, TaskType, unkeyed_id
from taskmill.settings.known import PREFIX
from taskmill.stores.redis.keys import shard_keys
from taskmill_local.lambdas.answer import Answer, Responded
from taskmill_local.lambdas.functions import Functions
from taskmill_local.plan import FunctionPlan
from taskmill_local.settings import SHARDS, Settings
from taskmill_local.template.read import read_plan

_SECTION: Final = "cold start: spawn → first answer, a worker's first end; stores in use"
_MOST_MS: Final = 250
_LIMITED: Final = frozenset({"Gateway", "Dispatcher", "EchoWorker"})
_NO_GRACE: Final = timedelta()
_NO_PARTITION: Final = 1_000
"""A record outside the log: it must not look like one that a mapping reads."""

_REFUSED: Final = 300


@dataclass(frozen=True, slots=True)
class _FirstEvent:
    event: dict[str, Any]
    task_id: TaskId | None = None
    """The task of a worker, which answers some time after its end: another one might come."""


def measure_cold(system: System, sizes: Sizes) -> list[Figure]:
    """Start each function afresh for one event, with nothing else running."""
    plans = _plans(system)
    home = {"TASKMILL_ROOT": str(system.folder), "TASKMILL_HOME": system.look()["home"]}
    settings = known_in(system.folder, Settings.from_environment(home).for_functions)
    folder = system.folder
    events: dict[str, Callable[[], _FirstEvent]] = {
        "Bare": lambda: _FirstEvent(_http_event(folder, BARE_PATH)),
        "Gateway": lambda: _FirstEvent(_http_event(folder, "/v1/tasks")),
        "Dispatcher": lambda: _FirstEvent(_pending_event(folder)),
        "EchoWorker": lambda: _work(folder, "echo"),
        "EmailWorker": lambda: _work(folder, "email"),
        "ReportWorker": lambda: _work(folder, "report"),
        "WebhookWorker": lambda: _work(folder, "webhook"),
        "Recorder": lambda: _FirstEvent(_pending_event(folder)),
        "Inbox": lambda: _FirstEvent(_kafka_event(topics.INBOX, json.dumps(a_task()).encode())),
    }
    with redis_of(system) as redis:
        return [
            Figure(
                section=_SECTION,
                name=name,
                value=median(
                    asyncio.run(_cold_ms(folder, settings, plans[name], make(), redis))
                    for _ in range(sizes.cold_starts)
                ),
                unit="ms",
                limit=_MOST_MS if name in _LIMITED else None,
            )
            for name, make in events.items()
            if name in plans  # the compared version may have fewer
        ]


def _plans(system: System) -> dict[str, FunctionPlan]:
    stores = {name: store["address"] for name, store in system.look()["stores"].items()}
    parameters = {
        "KafkaBrokers": stores["Kafka"],
        "RedisUrl": stores["Valkey"],
        "PostgresDsn": stores["PostgreSQL"],
        "Shards": str(SHARDS),
        "WaitingPlaces": "1",
    }
    folder = system.folder
    plan = read_plan(folder / TEMPLATE, root=folder, parameters=parameters)
    return dict(plan.functions)


def known_in(folder: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Return those of *settings* that the version in *folder* has, too: it refuses all others."""
    home = folder / "shared" / "taskmill" / "settings"
    text = "".join((home / name).read_text() for name in ("known.py", "of_types.json"))
    words = {PREFIX + word.removeprefix(PREFIX) for word in re.findall(r"[A-Z_]+", text)}
    return {name: value for name, value in settings.items() if name in words}


async def _cold_ms(
    folder: Path,
    settings: Mapping[str, str],
    plan: FunctionPlan,
    first: _FirstEvent,
    redis: Any,
) -> float:
    with tempfile.TemporaryDirectory(prefix="taskmill-bench-") as logs:
        functions = Functions(
            {plan.name: plan},
            logs=Path(logs),
            python_path=(folder, folder / "shared"),
            extra_environment=settings,
            concurrency_cap=1,
        )
        try:
            began_ms, began = time.time_ns() / 1e6, time.perf_counter()
            answer = await functions.invoke(plan.name, json.dumps(first.event).encode())
            took_ms = (time.perf_counter() - began) * 1000
        finally:
            await functions.stop(_NO_GRACE)
    _check(plan.name, answer)
    return took_ms if first.task_id is None else _ended_ms(first.task_id, redis) - began_ms


def _ended_ms(task_id: TaskId, redis: Any) -> float:
    """Return when a task has ended, by the clock of Redis, which is this machine's."""
    ending = redis.hget(shard_keys(task_id, SHARDS).record(task_id), "ending")
    return float(json.loads(ending)["finished_at_ms"])


def _check(function: str, answer: Answer) -> None:
    """Refuse to time a function that did not do its work."""
    if not isinstance(answer, Responded):
        raise SystemExit(f"{function} failed at its cold start: {answer.body.decode()}")
    body = json.loads(answer.body)
    if body.get("statusCode", 200) >= _REFUSED or body.get("batchItemFailures"):
        raise SystemExit(f"{function} refused its first event: {answer.body.decode()}")


def _http_event(folder: Path, path: str) -> dict[str, Any]:
    """Return a recorded request, sent to *path* as if for the first time."""
    event: dict[str, Any] = json.loads((folder / "events" / "http_submit.json").read_text())
    del event["headers"]["idempotency-key"]
    body = {"routeKey": f"POST {path}", "rawPath": path, "body": json.dumps(a_task())}
    event["requestContext"]["http"]["path"] = path
    return event | body


def _work(folder: Path, task_type: str) -> _FirstEvent:
    """Return a task for a worker; its payload fits `echo` and ends as invalid in other types."""
    task_id = unkeyed_id(_now(), os.urandom(10))
    batch = _batch(folder, task_type, task_id)
    return _FirstEvent(_kafka_event(topics.worker(TaskType(task_type)), batch), task_id)


def _pending_event(folder: Path) -> dict[str, Any]:
    task_id = unkeyed_id(_now(), os.urandom(10))
    return _kafka_event(topics.PENDING, _batch(folder, "echo", task_id))


def _batch(folder: Path, task_type: str, task_id: TaskId) -> bytes:
    """Return a fresh task in the format of this version, made of one of its recorded events."""
    recorded = json.loads((folder / "events" / "kafka_pending.json").read_text())
    *_, (record,) = recorded["records"].values()
    now = _now()
    fresh = {
        "generation": now,
        "id": task_id,
        "submission": os.urandom(16).hex(),
        "type": task_type,
        "payload": a_task()["payload"],
        "created_at_ms": now,
    }
    return json.dumps(_renewed(json.loads(b64decode(record["value"])), fresh)).encode()


def _renewed(value: Any, fresh: Mapping[str, Any]) -> Any:
    """Replace the fields that *fresh* names, at whatever depth this version keeps them."""
    if isinstance(value, list):
        return [_renewed(one, fresh) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: fresh[name] if name in fresh else _renewed(part, fresh)
        for name, part in value.items()
    }


def _kafka_event(topic: str, value: bytes) -> dict[str, Any]:
    record = {
        "topic": topic,
        "partition": _NO_PARTITION,
        "offset": 0,
        "timestamp": _now(),
        "timestampType": "LOG_APPEND_TIME",
        "value": b64encode(value).decode(),
        "headers": [],
    }
    records = {f"{topic}-{_NO_PARTITION}": [record]}
    return {"eventSource": "SelfManagedKafka", "bootstrapServers": "", "records": records}


def _now() -> Millis:
    return Millis(time.time_ns() // 1_000_000)
