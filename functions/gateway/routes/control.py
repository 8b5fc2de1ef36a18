"""Cancels a task."""

from functions.gateway.answering import Answer, new_router, tell
from functions.gateway.cancelling import cancel_one

router = new_router()


@router.post("/v1/tasks/<task_id>/cancel")
def post_cancel(task_id: str) -> Answer:
    return tell(cancel_one(task_id))
