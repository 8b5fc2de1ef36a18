"""The life cycle of a task as one table: which fact leads from which status to which."""

from collections.abc import Mapping
from typing import TypeAlias

from taskmill.core.facts import (
    AttemptLost,
    Fact,
    TaskAdmitted,
    TaskCancelled,
    TaskChanged,
    TaskDeferred,
    TaskDied,
    TaskStarted,
    TaskSucceeded,
)
from taskmill.core.task import Status

Kind: TypeAlias = type[Fact]

TRANSITIONS: Mapping[tuple[Status, Kind], Status] = {
    (Status.SCHEDULED, TaskChanged): Status.SCHEDULED,
    (Status.SCHEDULED, TaskStarted): Status.RUNNING,
    (Status.SCHEDULED, AttemptLost): Status.RUNNING,
    (Status.SCHEDULED, TaskSucceeded): Status.SUCCEEDED,
    (Status.SCHEDULED, TaskDeferred): Status.RETRYING,
    (Status.SCHEDULED, TaskDied): Status.DEAD,
    (Status.SCHEDULED, TaskCancelled): Status.CANCELLED,
    (Status.QUEUED, TaskAdmitted): Status.QUEUED,
    (Status.QUEUED, TaskChanged): Status.SCHEDULED,
    (Status.QUEUED, TaskStarted): Status.RUNNING,
    (Status.QUEUED, AttemptLost): Status.RUNNING,
    (Status.QUEUED, TaskSucceeded): Status.SUCCEEDED,
    (Status.QUEUED, TaskDeferred): Status.RETRYING,
    (Status.QUEUED, TaskDied): Status.DEAD,
    (Status.QUEUED, TaskCancelled): Status.CANCELLED,
    (Status.RUNNING, TaskStarted): Status.RUNNING,
    (Status.RUNNING, AttemptLost): Status.RUNNING,
    (Status.RUNNING, TaskSucceeded): Status.SUCCEEDED,
    (Status.RUNNING, TaskDeferred): Status.RETRYING,
    (Status.RUNNING, TaskDied): Status.DEAD,
    (Status.RUNNING, TaskCancelled): Status.CANCELLED,
    (Status.RETRYING, TaskChanged): Status.SCHEDULED,
    (Status.RETRYING, TaskStarted): Status.RUNNING,
    (Status.RETRYING, AttemptLost): Status.RUNNING,
    (Status.RETRYING, TaskSucceeded): Status.SUCCEEDED,
    (Status.RETRYING, TaskDeferred): Status.RETRYING,
    (Status.RETRYING, TaskDied): Status.DEAD,
    (Status.RETRYING, TaskCancelled): Status.CANCELLED,
}
"""A short attempt reports its start in its final fact, hence the transitions that skip RUNNING."""

RANKS: Mapping[Kind, int] = {
    TaskAdmitted: 0,
    TaskChanged: 0,
    AttemptLost: 1,
    TaskStarted: 2,
    TaskDeferred: 3,
    TaskCancelled: 4,
    TaskDied: 4,
    TaskSucceeded: 4,
}
"""The order of facts within one turn. Facts not listed here change no status."""

SUBMITTED_RANK = 0


def may_follow(earlier: str, later: str) -> bool:
    """Return whether a fact of the kind *later* may follow one of the kind *earlier*, by name.

    Facts that change no status may come at any time; facts in between are not considered.
    """
    if earlier not in _BY_NAME or later not in _BY_NAME:
        return True
    status = status_after(_BY_NAME[earlier])
    return not status.is_final or (status, _BY_NAME[later]) in TRANSITIONS


def status_after(kind: Kind) -> Status:
    """Return the status that a fact leads to from anywhere: each kind has exactly one target."""
    return _AFTER[kind]


_AFTER: Mapping[Kind, Status] = {kind: status for (_, kind), status in TRANSITIONS.items()}
_BY_NAME: Mapping[str, Kind] = {kind.__name__: kind for kind in RANKS}
