"""What was taken can be read at once (P32)."""

TIMES = 1_000


def test_a_202_can_be_read_at_once(stack, run, figures):
    statuses = []
    for number in range(TIMES):
        answer = run.ask(run.request(number))
        assert answer.status == 202
        statuses.append(stack.client.get(f"/v1/tasks/{answer.body['id']}").status)
    figures.tell("P32", f"{TIMES} reads behind a 202: {statuses.count(404)} were answered 404")
    assert set(statuses) == {200}
    run.await_ends()
    assert run.complaints() == []
