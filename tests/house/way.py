"""The path of one task: the files and functions it passes, and the number of jumps."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import pytest

from functions.dispatcher.handler import lambda_handler as dispatcher
from functions.gateway.handler import lambda_handler as gateway
from functions.recorder.handler import lambda_handler as recorder
from functions.workers.echo.handler import lambda_handler as worker
from taskmill.core import topics
from taskmill.core.task import TaskType
from tests.unit.stage import Stage, a_kafka_event, an_http_event

ROOT: Final = Path(__file__).parents[2]
PRODUCT: Final = (f"{ROOT}/shared/taskmill/", f"{ROOT}/functions/")
TWIN: Final = f"{ROOT}/shared/taskmill/stores/memory/lanes/"
"""Stands for the scripts of lanes, each of which is one file: it counts as one."""

KIT: Final = f"{ROOT}/shared/taskmill/testing/"
"""The clock of the stage comes from there."""


@dataclass
class Way:
    """The path of one task; a jump is a call from one of our files to another one."""

    files: set[str] = field(default_factory=set)
    functions: set[tuple[str, str]] = field(default_factory=set)
    jumps: int = 0
    _seen: set[FrameType] = field(default_factory=set)

    def see(self, frame: FrameType, event: str, _: Any) -> None:
        """Count a call, as `sys.setprofile` reports it; a resumed generator is no new call."""
        if event == "call" and frame not in self._seen and (file := _file_of(frame.f_code)):
            self._seen.add(frame)
            self.files.add(file)
            self._name(file, frame.f_code)
            self.jumps += _caller(frame) not in {None, file}

    def _name(self, file: str, code: CodeType) -> None:
        if "<" not in code.co_name:  # neither lambdas nor comprehensions
            self.functions.add((file, code.co_qualname))


def walk() -> Way:
    """Return the path of one task, after another task has filled the processes' caches."""
    way = Way()
    with handlers() as stage:
        _one_task(stage, lambda handle, *given: handle(*given))
    with handlers() as stage:
        _one_task(stage, lambda handle, *given: _watched(way, handle, *given))
    return way


@contextmanager
def handlers() -> Iterator[Stage]:
    """Bind the product's handlers to in-memory stores."""
    with pytest.MonkeyPatch.context() as patch:
        stage = Stage()
        stage.bind(patch)
        stage.watch()  # as schedulers do: else the worker would
        yield stage


def _one_task(stage: Stage, call: Callable[..., Any]) -> None:
    body = json.dumps({"type": "echo", "payload": {}})
    sent = {"headers": {"Content-Type": "application/json"}, "body": body}
    task_id = json.loads(_ask(stage, call, 202, "POST", "/v1/tasks", **sent))["id"]
    for handle, topic in (
        (dispatcher, topics.PENDING),
        (worker, topics.worker(TaskType("echo"))),
        (recorder, topics.PENDING),
        (recorder, topics.EVENTS),
    ):
        call(handle, a_kafka_event(stage.log.records(topic)), stage.context())
    shown = json.loads(_ask(stage, call, 200, "GET", f"/v1/tasks/{task_id}"))
    assert shown["status"] == "succeeded", shown


def _ask(stage: Stage, call: Callable[..., Any], status: int, *request: str, **parts: Any) -> str:
    answer = call(gateway, an_http_event(*request, **parts), stage.context())
    assert answer["statusCode"] == status, answer
    return str(answer["body"])


def _watched(way: Way, handle: Callable[..., Any], *given: Any) -> Any:
    sys.setprofile(way.see)
    try:
        return handle(*given)
    finally:
        sys.setprofile(None)


def _caller(frame: FrameType) -> str | None:
    """Return the nearest calling file of ours, skipping frames of libraries."""
    above = frame.f_back
    while above is not None:
        if file := _file_of(above.f_code):
            return file
        above = above.f_back
    return None


def _file_of(code: CodeType) -> str | None:
    file = code.co_filename
    if file.startswith(TWIN):
        return TWIN
    return file if file.startswith(PRODUCT) and not file.startswith(KIT) else None
