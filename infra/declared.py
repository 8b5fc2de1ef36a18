"""Collects the schedules that the types' folders declare, and validates each as the API does."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from taskmill.core.refusal import Refusal
from taskmill.core.task import Millis
from taskmill.schedules.read import read_new
from taskmill.stores.catalogue import AssembledCatalogue

FILE = "schedules.yaml"


def schedules(workers: Path, types: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the requests that create them; an invalid one raises SystemExit with the reason."""
    catalogue = AssembledCatalogue(msgspec.json.encode(types))
    declarations: dict[str, dict[str, Any]] = {}
    for path in sorted(workers.glob(f"*/{FILE}")):
        for request in _requests(path):
            _check(request, path, declarations, catalogue)
            declarations[request["name"]] = request
    return [declarations[name] for name in sorted(declarations)]


def _requests(path: Path) -> Iterator[dict[str, Any]]:
    try:
        document = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise SystemExit(f"{_short(path)} is not valid YAML: {error}") from error
    if not isinstance(document, dict) or not all(
        isinstance(one, dict) for one in document.values()
    ):
        raise SystemExit(f"{_short(path)} must map names to the fields of a schedule")
    for name, fields in document.items():
        task = fields.get("task", {})
        if not isinstance(task, dict):
            raise SystemExit(f"{_short(path)}: {name}: `task` must hold the payload of its task")
        yield {"name": name, **fields, "task": {"type": path.parent.name, **task}}


def _check(
    request: dict[str, Any],
    path: Path,
    declarations: Mapping[str, object],
    catalogue: AssembledCatalogue,
) -> None:
    name = request["name"]
    if name in declarations:
        raise SystemExit(f"{_short(path)}: another folder already declares a schedule {name}")
    if request["task"]["type"] != path.parent.name:
        raise SystemExit(f"{_short(path)}: {name}: the type must be that of its folder")
    schedule = read_new(request, catalogue, now=Millis(int(time.time() * 1000)))
    if isinstance(schedule, Refusal):
        raise SystemExit(f"{_short(path)}: {name}: {schedule.detail} (at {schedule.pointer})")


def _short(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
