"""Describes the history of a task."""

from http import HTTPStatus
from typing import Annotated, Final, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from functions.gateway.description.answers import AsOf, Count, Moment, TaskError
from functions.gateway.description.examples import DEAD_ID
from functions.gateway.description.operation import Answer, Example, Operation
from functions.gateway.description.parameters import TASK_ID
from functions.gateway.description.reasons import Reason
from functions.gateway.history import LONGEST_HISTORY
from taskmill.core.task import PriorityName


class Fact(Struct, kw_only=True):
    """An event in a task's life, in the past tense."""

    kind: str
    generation: Count
    turn: Count
    at: Moment
    attempt: Count | UnsetType = UNSET
    losses: Count | UnsetType = UNSET
    started_at: Moment | UnsetType | None = UNSET
    next_attempt: Count | UnsetType = UNSET
    next_attempt_at: Moment | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    error: TaskError | UnsetType = UNSET
    submission: str | UnsetType = UNSET
    verdict: str | UnsetType = UNSET
    run_at: (
        Annotated[
            Moment, Meta(description="For a change: the new time at which the task may start.")
        ]
        | UnsetType
    ) = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    priority: PriorityName | UnsetType = UNSET


class Attempt(Struct, kw_only=True):
    """One attempt, derived from the facts of its start and end."""

    generation: Count
    turn: Count
    attempt: Count
    started_at: Moment
    ended_at: Moment | UnsetType = UNSET
    outcome: Literal["succeeded", "deferred", "died", "cancelled", "lost"] | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    error: TaskError | UnsetType = UNSET


class History(Struct):
    """Facts and attempts of a task, oldest first."""

    id: UUID
    facts: Annotated[list[Fact], Meta(max_length=LONGEST_HISTORY)]
    attempts: list[Attempt]
    as_of: AsOf


HISTORY: Final = Operation(
    route="GET /v1/tasks/{task_id}/history",
    name="readHistory",
    summary="Read the history of a task",
    details=f"The latest {LONGEST_HISTORY} facts, oldest first, and the attempts derived from"
    " them.",
    parameters=[TASK_ID],
    answers={HTTPStatus.OK: Answer(what="The facts and attempts.", body=History)},
    problems=["not_found", "enqueue_refused", "unavailable"],
    examples=[
        Example(
            name="a task that died",
            status=HTTPStatus.OK,
            given={"task_id": DEAD_ID},
            answer={
                "id": DEAD_ID,
                "facts": [
                    {
                        "kind": "submitted",
                        "generation": 1794000000123,
                        "turn": 1,
                        "at": "2026-11-06T21:20:00.123Z",
                    },
                    {
                        "kind": "died",
                        "generation": 1794000000123,
                        "turn": 1,
                        "at": "2026-11-06T21:20:00.141Z",
                        "attempt": 1,
                        "losses": 0,
                        "started_at": "2026-11-06T21:20:00.140Z",
                        "reason": "discarded",
                        "error": {"class": "Discard", "message": "never"},
                    },
                ],
                "attempts": [
                    {
                        "generation": 1794000000123,
                        "turn": 1,
                        "attempt": 1,
                        "started_at": "2026-11-06T21:20:00.140Z",
                        "ended_at": "2026-11-06T21:20:00.141Z",
                        "outcome": "died",
                        "reason": "discarded",
                        "error": {"class": "Discard", "message": "never"},
                    }
                ],
                "as_of": "2026-11-06T21:20:01.000Z",
            },
        )
    ],
)
OPERATIONS: Final = (HISTORY,)
