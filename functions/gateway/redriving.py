"""Redrives a task and returns the result."""

from http import HTTPStatus
from typing import assert_never

from functions.gateway.catching_up import caught_up
from functions.gateway.http.answer import Told
from functions.gateway.http.problem import Problem, conflict
from functions.gateway.presenter import task_as_json
from functions.gateway.reading import find, id_of, untold
from taskmill.bootstrap import gateway
from taskmill.core.view import Nowhere, Unsure
from taskmill.orders.redrive import Again, NotOver, Redrive, Redriver, Wish


def redrive_one(given_id: str) -> Told | Problem:
    task_id = id_of(given_id)
    if isinstance(task_id, Problem):
        return task_id

    def ask() -> Redrive:
        (answer,) = Redriver(gateway.stores(), find).redrive([Wish(task_id)])
        return answer

    answer = caught_up(ask, lambda one: isinstance(one, Unsure) and one.is_behind)
    match answer:
        case Again(task):
            return Told(HTTPStatus.ACCEPTED, task_as_json(task), f"/v1/tasks/{task.id}")
        case NotOver(task):
            detail = f"only a dead or cancelled task can be redriven; the task is {task.status}"
            return conflict("not_redrivable", detail)
        case Nowhere() | Unsure():
            return untold(task_id, answer)
        case _:
            assert_never(answer)
