"""Time of a function from spawn to first response, with compiled files."""

import asyncio
import json
import os
import tempfile
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.figures import Figure
from bench.measures.load import a_task
from bench.project import BARE_PATH, TEMPLATE
from bench.sizes import Sizes
from bench.system import System
from taskmill.core import topics
from taskmill.core.task import Millis, TaskType, unkeyed_id
from taskmill_local.lambdas.answer import Answer, Responded
from taskmill_local.lambdas.functions import Functions
from taskmill_local.plan import FunctionPlan
from taskmill_local.settings import SHARDS, Settings
from taskmill_local.template.read import read_plan

_SECTION: Final = "cold start: spawn → first answer, stores in use"
_MOST_MS: Final = 250
_LIMITED: Final = frozenset({"Gateway", "Dispatcher", "EchoWorker"})
_NO_GRACE: Final = timedelta()
_NO_PARTITION: Final = 1_000
"""A record outside the log: it must not look like one that a mapping reads."""

_REFUSED: Final = 300


def measure_cold(system: System, sizes: Sizes) -> list[Figure]:
    """Start each function afresh for one event, with nothing else running."""
    plans = _plans(system)
    home = {"TASKMILL_ROOT": str(system.folder), "TASKMILL_HOME": system.look()["home"]}
    settings = Settings.from_environment(home).for_functions
    events: dict[str, Callable[[], dict[str, Any]]] = {
        "Bare": lambda: _http_event(system.folder, BARE_PATH),
        "Gateway": lambda: _http_event(system.folder, "/v1/tasks"),
        "Dispatcher": lambda: _kafka_event(topics.PENDING, _batch(system.folder, "echo")),
        "EchoWorker": lambda: _work_event(system.folder, "echo"),
        "EmailWorker": lambda: _work_event(system.folder, "email"),
        "ReportWorker": lambda: _work_event(system.folder, "report"),
        "WebhookWorker": lambda: _work_event(system.folder, "webhook"),
        "Recorder": lambda: _kafka_event(topics.PENDING, _batch(system.folder, "echo")),
        "Inbox": lambda: _kafka_event(topics.INBOX, json.dumps(a_task()).encode()),
    }
    return [
        Figure(
            section=_SECTION,
            name=name,
            value=median(
                asyncio.run(_cold_ms(system.folder, settings, plans[name], make()))
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


async def _cold_ms(
    folder: Path, settings: Mapping[str, str], plan: FunctionPlan, event: dict[str, Any]
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
            began = time.perf_counter()
            answer = await functions.invoke(plan.name, json.dumps(event).encode())
            took = time.perf_counter() - began
        finally:
            await functions.stop(_NO_GRACE)
    _check(plan.name, answer)
    return took * 1000


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


def _work_event(folder: Path, task_type: str) -> dict[str, Any]:
    """Return a task for a worker; its payload fits `echo` and ends as invalid in other types.

    Either way it is claimed and settled, and its end is published.
    """
    return _kafka_event(topics.worker(TaskType(task_type)), _batch(folder, task_type))


def _batch(folder: Path, task_type: str) -> bytes:
    """Return a fresh task in the format of this version, made of one of its recorded events."""
    recorded = json.loads((folder / "events" / "kafka_pending.json").read_text())
    *_, (record,) = recorded["records"].values()
    now = _now()
    fresh = {
        "generation": now,
        "id": unkeyed_id(now, os.urandom(10)),
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
