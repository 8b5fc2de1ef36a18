"""Cancels a task and returns the result."""

from http import HTTPStatus
from typing import assert_never

from functions.gateway.http.answer import Told
from functions.gateway.http.problem import Problem, conflict
from functions.gateway.presenter import task_as_json
from functions.gateway.reading import find, id_of, untold
from taskmill.bootstrap import gateway
from taskmill.core.view import Nowhere, Unsure
from taskmill.orders.cancel import AlreadyFinished, Asked, Cancelled, Canceller


def cancel_one(given_id: str) -> Told | Problem:
    task_id = id_of(given_id)
    if isinstance(task_id, Problem):
        return task_id
    answer = Canceller(gateway.stores(), find).cancel(task_id)
    match answer:
        case Cancelled(task):
            return Told(HTTPStatus.OK, task_as_json(task))
        case Asked(task):
            return Told(HTTPStatus.ACCEPTED, task_as_json(task), f"/v1/tasks/{task.id}")
        case AlreadyFinished(task):
            detail = f"the task has already ended: it is {task.status}"
            return conflict("already_finished", detail)
        case Nowhere() | Unsure():
            return untold(task_id, answer)
        case _:
            assert_never(answer)
