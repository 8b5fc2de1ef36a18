"""The view of a task that readers get from the hot store."""

from taskmill.core.task import Status, shown
from taskmill.core.view import Absent, TaskView
from tests.builders import a_fresh_envelope, a_request
from tests.contracts.hot import admitted, claimed


def test_a_task_that_was_never_admitted_is_absent(hot):
    assert hot.records().read([a_fresh_envelope().id]) == [Absent()]


def test_an_admitted_task_is_queued(hot):
    task = admitted(hot.admission(), a_request("k", metadata={"who": "söme ☃"}))
    assert hot.records().read([task.id]) == [
        TaskView(
            id=task.id,
            spec=shown(task),
            status=Status.QUEUED,
            generation=task.generation,
            attempt=1,
            losses=0,
            started_at_ms=None,
            ending=None,
            result=None,
        )
    ]


def test_a_claimed_task_is_running_since_its_claim(hot):
    task = admitted(hot.admission(), a_request())
    answer = claimed(hot.leases(), task)
    assert hot.records().read([task.id]) == [
        TaskView(
            id=task.id,
            spec=shown(task),
            status=Status.RUNNING,
            generation=task.generation,
            attempt=1,
            losses=0,
            started_at_ms=answer.started_at_ms,
            ending=None,
            result=None,
        )
    ]


def test_answers_come_in_the_order_of_the_questions(hot):
    tasks = [admitted(hot.admission(), a_request()) for _ in range(5)]
    unknown = a_fresh_envelope()
    asked = [tasks[3].id, unknown.id, tasks[0].id]
    third, absent, first = hot.records().read(asked)
    assert (third.id, absent, first.id) == (tasks[3].id, Absent(), tasks[0].id)
