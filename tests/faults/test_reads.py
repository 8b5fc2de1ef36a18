"""What was taken can be read at once (P32)."""

from collections import Counter

from tests.waiting import eventually

TIMES = 1_000
MOST_PUT_OFF = 20
"""While a machine stands still, stores do not answer in time: who reads is told to come again."""


def test_a_202_can_be_read_at_once(stack, run, figures):
    put_off, statuses = 0, Counter()

    def is_told(task_id):
        status = stack.client.get(f"/v1/tasks/{task_id}").status
        statuses[status] += 1
        return status != 503

    for number in range(TIMES):
        task_id = run.insist(run.request(number)).body["id"]
        before = statuses[503]
        eventually(lambda one=task_id: is_told(one), within=30, reason="it is told")
        put_off += statuses[503] > before
    figures.tell(
        "P32", f"{TIMES} reads behind a 202: {statuses[404]} were answered 404, {put_off} put off"
    )
    assert statuses.keys() <= {200, 503}
    assert put_off <= MOST_PUT_OFF
    run.await_ends()
    assert run.complaints() == []
