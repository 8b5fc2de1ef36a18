"""Tells whether a request may be a repeated one."""

from collections.abc import Callable

from taskmill.domain.errors import StoreUnavailable
from taskmill.domain.naming import keyed_id
from taskmill.domain.records import Absent
from taskmill.domain.submission import Submission
from taskmill.domain.task import DEFAULT_TENANT, TaskId
from taskmill.ports.records import Records


def has_a_task(
    submission: Submission,
    records: Records,
    *,
    elsewhere: Callable[[TaskId], bool] = lambda _: False,
) -> bool:
    """Tell whether its key has a task; while nobody can say so, it may have one."""
    if submission.idempotency_key is None:
        return False
    task_id = keyed_id(DEFAULT_TENANT, submission.type, submission.idempotency_key)
    try:
        (reading,) = records.read([task_id])
        return not isinstance(reading, Absent) or elsewhere(task_id)
    except StoreUnavailable:
        return True
