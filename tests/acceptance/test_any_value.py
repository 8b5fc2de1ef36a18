"""Every accepted value survives entry point, log, Redis, ledger, worker and response unchanged."""

import json
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.acceptance.ledger import kept
from tests.acceptance.raw import JSON, a_request, ask
from tests.json_values import meaning, texts, values
from tests.waiting import eventually

PATIENCE = 25
LONG = 60
SOME = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
AGAIN = {"retry": "once more", "for_attempts": 1}
"""Tried twice, a task lies in Redis whole meanwhile, and goes out from there."""

tasks = st.fixed_dictionaries(
    {
        "type": st.just("echo"),
        "payload": st.builds(
            lambda value, more: {"say": value} | more,
            values,
            st.sampled_from([{}, AGAIN]),
        ),
        "metadata": st.dictionaries(texts, texts, max_size=2).filter(
            lambda answer: len(json.dumps(answer)) < 1_000
        ),
        "retry": st.just({"first_seconds": 0}),
    }
)


def submitted(client, batch, *, is_ascii):
    """Submit *batch*, all of which must be accepted; return the tasks as clients see them."""
    body = json.dumps({"tasks": batch}, ensure_ascii=is_ascii).encode()
    answer = ask(client, a_request("POST", "/v1/tasks/batch", body, JSON))
    assert answer.status == 200, answer
    results = answer.body["results"]
    assert [one for one in results if one["status"] not in {200, 202}] == []
    return [one["task"] for one in results]


@SOME
@given(st.lists(tasks, min_size=15, max_size=25))
def test_any_value_comes_back_as_it_was_given(stack, client, batch):
    keyed = [one | {"idempotency_key": uuid4().hex} for one in batch[::3]]
    batch = keyed + [one for number, one in enumerate(batch) if number % 3]
    answer = submitted(client, batch, is_ascii=False)
    for given_task, task in zip(batch, answer, strict=True):
        assert task["metadata"] == given_task["metadata"]
        ended = client.task(task["id"], wait=PATIENCE)
        assert ended["status"] == "succeeded", ended
        assert meaning(ended["result"]) == meaning(given_task["payload"])
        assert ended["metadata"] == given_task["metadata"]
    in_the_ledger(stack, batch, answer)
    again = submitted(client, keyed, is_ascii=True)
    assert all(one["replayed"] for one in again), "the same requests in other letters"


def in_the_ledger(stack, batch, answer):
    """Wait until the ledger has all of it, and compare what it keeps."""
    ids = [task["id"] for task in answer]
    eventually(
        lambda: [all(row) for row in kept(stack, ids).values()] == [True] * len(ids),
        within=LONG,
        reason="payload and result of all of them in the ledger",
    )
    rows = kept(stack, ids)
    for given_task, task in zip(batch, answer, strict=True):
        _, payload, result = rows[task["id"]]
        assert meaning(json.loads(payload)) == meaning(given_task["payload"])
        assert meaning(json.loads(result)) == meaning(given_task["payload"])


@pytest.mark.parametrize(("levels", "status"), [(30, 202), (31, 400)])
@pytest.mark.parametrize("shape", [("[", "]"), ('{"":', "}")], ids=["lists", "objects"])
def test_what_is_nested_as_deep_as_it_may_be_comes_back(client, shape, levels, status):
    opens, closes = shape
    value = opens * levels + ("0" if ":" in opens else "") + closes * levels
    body = f'{{"type": "echo", "payload": {{"say": {value}}}}}'.encode()
    answer = ask(client, a_request("POST", "/v1/tasks", body))
    assert answer.status == status
    if status == 202:
        result = client.task(answer.body["id"], wait=PATIENCE)["result"]
        assert meaning(result["say"]) == meaning(json.loads(value))
