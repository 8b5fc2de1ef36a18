"""Reads one task, at once or after it has ended."""

import re
from datetime import timedelta
from typing import assert_never

from functions.gateway.http.catching_up import NO_TIME
from functions.gateway.http.problem import Problem, not_found, refused, unavailable, unprocessable
from functions.gateway.stores import stores
from taskmill.core.task import TaskId
from taskmill.core.time import in_ms
from taskmill.core.view import Finding, Nowhere, TaskView, Unsure
from taskmill.ledger.find import TaskFinder
from taskmill.platform import process
from taskmill.submission.enqueue import look_at_request

LONGEST_WAIT_SECONDS = 25.0
_FIRST_LOOK = timedelta(milliseconds=20)
_RAREST_LOOK = timedelta(milliseconds=200)
_SECONDS = re.compile(r"[0-9]{1,3}(\.[0-9]{1,20})?")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[78][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def read_task(given_id: str, span: timedelta) -> TaskView | Problem:
    task_id = id_of(given_id)
    if isinstance(task_id, Problem):
        return task_id
    found = _find_ended(task_id, span)
    return found if isinstance(found, TaskView) else untold(task_id, found)


def id_of(given: str) -> TaskId | Problem:
    return TaskId(given) if _ID.fullmatch(given) else not_found(given)


def read_wait(text: str | None, *, usual: timedelta = NO_TIME) -> timedelta | Problem:
    if text is None:
        return usual
    if not _SECONDS.fullmatch(text) or float(text) > LONGEST_WAIT_SECONDS:
        detail = f"wait is a number of seconds from 0 to {LONGEST_WAIT_SECONDS:g}"
        return unprocessable("invalid_request", detail, "wait")
    return timedelta(seconds=float(text))


def _find_ended(task_id: TaskId, span: timedelta) -> Finding:
    """Look until the task has ended or the time is over; only a part of us may wait so.

    What was accepted without Redis cannot be told for some seconds: who waits, waits for that too.
    """
    found = find(task_id)
    if not span or not _is_awaited(found):
        return found
    with stores().waiters.place() as has_place:
        end_ms = process.clock() + in_ms(span)
        rest = _FIRST_LOOK
        while has_place and _is_awaited(found) and process.clock() < end_ms:
            process.pause(rest)
            rest = min(rest * 1.5, _RAREST_LOOK)
            found = find(task_id)
    return found


def _is_awaited(found: Finding) -> bool:
    match found:
        case TaskView(status=status):
            return not status.is_final
        case Unsure(is_away=is_away):
            return not is_away
        case Nowhere():
            return False
        case _:
            assert_never(found)


def find(task_id: TaskId) -> Finding:
    return TaskFinder(stores(), _asked).find(task_id)


def _asked(task_id: TaskId) -> TaskView | Nowhere | None:
    return look_at_request(task_id, stores().requests, stores().catalogue)


def untold(task_id: TaskId, found: Nowhere | Unsure) -> Problem:
    match found:
        case Nowhere(why):
            return not_found(task_id) if why is None else refused(why)
        case Unsure(why):
            return unavailable(f"the task cannot be read now: {why}", 1)
        case _:
            assert_never(found)
