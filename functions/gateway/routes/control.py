"""Cancels a task, or redrives it."""

from functions.gateway.answering import Answer, new_router, tell
from functions.gateway.cancelling import cancel_one
from functions.gateway.redriving import redrive_one

router = new_router()


@router.post("/v1/tasks/<task_id>/cancel")
def post_cancel(task_id: str) -> Answer:
    return tell(cancel_one(task_id))


@router.post("/v1/tasks/<task_id>/redrive")
def post_redrive(task_id: str) -> Answer:
    return tell(redrive_one(task_id))
