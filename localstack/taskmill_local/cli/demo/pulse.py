"""The demo's schedule, which fires every two seconds while the other tasks run."""

import time
from http import HTTPStatus
from typing import Final

from taskmill_local.cli.api import Api, Json, problem_sentence
from taskmill_local.cli.demo.story import StoryBroken

_NAME: Final = "pulse"
_PERIOD: Final = 2
_FIRES: Final = 2
_GLANCE_SECONDS: Final = 0.05


def make_pulse(api: Api) -> None:
    task = {"type": "echo", "payload": {"say": "tick"}, "metadata": {"schedule": _NAME}}
    schedule = {"every_seconds": _PERIOD, "task": task}
    answer = api.ask("PUT", f"/v1/schedules/{_NAME}", schedule)
    if answer.status != HTTPStatus.CREATED:
        raise StoryBroken(f"The schedule was not created: {problem_sentence(answer)}")


def pulse_arrived(api: Api, deadline: float) -> str:
    """Return a sentence about the ended tasks that the schedule fired."""
    while len(tasks := _ended(api)) < _FIRES:
        if time.monotonic() > deadline:
            raise StoryBroken(f"The schedule {_NAME} fired {len(tasks)} tasks that succeeded.")
        time.sleep(_GLANCE_SECONDS)
    times = ", ".join(sorted(_instant(task) for task in tasks))
    return f"A schedule fires every {_PERIOD} s, each time once: at {times}"


def _ended(api: Api) -> list[Json]:
    query = {"status": "succeeded", "metadata.schedule": _NAME}
    return list(api.tasks(query).body.get("tasks", ()))


def _instant(task: Json) -> str:
    """Return the nominal instant from the task's key."""
    return str(task["idempotency_key"]).rpartition("T")[2].rstrip("Z")
