"""A call past its deadline is stopped, and its process is not reused."""

from tests.waiting import eventually

PATIENCE = 25
LONG = 60


def worker(client):
    return client.platform()["functions"]["EchoWorker"]


def gone(answer):
    """Return how many of the started processes have ended."""
    return answer["cold_starts"] - answer["environments"]


def test_a_process_in_which_a_call_goes_on_ends_and_its_batch_is_unharmed(client):
    client.task(client.submit({"say": "first"})["id"], wait=PATIENCE)
    before = worker(client)
    late = {
        "type": "echo",
        "payload": {"sleep_seconds": 60},
        "timeout_seconds": 0.5,
        "max_attempts": 1,
    }
    batch = client.post(
        "/v1/tasks/batch",
        {"tasks": [late, *({"type": "echo", "payload": {"say": n}} for n in range(20))]},
    )
    cut, *others = (result["task"]["id"] for result in batch.body["results"])
    answer = client.task(cut, wait=PATIENCE)
    assert (answer["status"], answer["reason"], answer["losses"]) == ("dead", "timeout", 0)
    ends = [client.task(task, wait=PATIENCE) for task in others]
    assert {(end["status"], end["losses"]) for end in ends} == {("succeeded", 0)}
    eventually(
        lambda: gone(worker(client)) > gone(before),
        within=LONG,
        reason="its process is gone",
    )
    assert worker(client)["errors"] == before["errors"], "the answer came before the end"
    assert client.task(client.submit({"say": "more"})["id"], wait=PATIENCE)["result"] == {
        "say": "more"
    }
