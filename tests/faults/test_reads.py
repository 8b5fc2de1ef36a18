"""An accepted task can be read at once (P32)."""

from concurrent.futures import ThreadPoolExecutor

TIMES = 1_000
CALLERS = 4


def test_a_202_can_be_read_at_once(stack, run, figures):
    def take_and_read(number):
        answer = run.ask(run.request(number))
        assert answer.status == 202
        return stack.client.get(f"/v1/tasks/{answer.body['id']}").status

    with ThreadPoolExecutor(CALLERS) as callers:
        statuses = list(callers.map(take_and_read, range(TIMES)))
    figures.tell("P32", f"{TIMES:,} reads behind a 202: {statuses.count(404)} were answered 404")
    assert set(statuses) == {200}
    run.await_ends()
    assert run.complaints(kills=0, in_flight=0) == []
