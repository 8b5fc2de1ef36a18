"""Finds out whether a request may be a repeated one."""

from collections.abc import Callable

from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import DEFAULT_TENANT, Submission, TaskId, keyed_id
from taskmill.core.view import Absent
from taskmill.submission.ports import Records


def has_a_task(
    submission: Submission,
    records: Records,
    *,
    elsewhere: Callable[[TaskId], bool] = lambda _: False,
) -> bool:
    """Return whether its key has a task; while this is unknown, it may have one."""
    if submission.idempotency_key is None:
        return False
    task_id = keyed_id(DEFAULT_TENANT, submission.type, submission.idempotency_key)
    try:
        (reading,) = records.read([task_id])
        return not isinstance(reading, Absent) or elsewhere(task_id)
    except StoreUnavailable:
        return True
