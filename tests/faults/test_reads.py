"""What was taken can be read at once (P32)."""

TIMES = 1_000


def test_a_202_can_be_read_at_once(stack, run, figures):
    statuses = []
    for number in range(TIMES):
        answer = stack.client.post("/v1/tasks", run.request(number))
        assert answer.status == 202
        run.ids[run.label(number)] = answer.body["id"]
        statuses.append(stack.client.get(f"/v1/tasks/{answer.body['id']}").status)
    figures.tell("P32", f"{TIMES} reads behind a 202: {statuses.count(404)} were answered 404")
    assert set(statuses) == {200}
    run.await_ends()
    assert run.complaints() == []
