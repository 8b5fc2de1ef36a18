"""Cancels a task, redrives it, or changes it while it waits."""

from functions.gateway.cancelling import cancel_one
from functions.gateway.changing import change_one
from functions.gateway.http.answer import Answer, json_body, new_router, tell
from functions.gateway.http.problem import Problem
from functions.gateway.redriving import redrive_one

router = new_router()


@router.post("/v1/tasks/<task_id>/cancel")
def post_cancel(task_id: str) -> Answer:
    return tell(cancel_one(task_id))


@router.patch("/v1/tasks/<task_id>")
def patch_task(task_id: str) -> Answer:
    body = json_body(router.current_event)
    return tell(body if isinstance(body, Problem) else change_one(task_id, body))


@router.post("/v1/tasks/<task_id>/redrive")
def post_redrive(task_id: str) -> Answer:
    return tell(redrive_one(task_id))
