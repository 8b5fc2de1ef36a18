"""A key identifies one task, whatever process dies (P8)."""

import random
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from tests.faults.run import a_seed, starts

CALLERS = 50


def nothing(_stack):
    """Let all be well."""


def empty_redis(stack):
    stack.forget_redis()


def kill_redis(stack):
    stack.ground.end("Valkey", signal.SIGKILL)
    stack.ground.revive("Valkey")


def kill_redis_and_its_file(stack):
    stack.ground.end("Valkey", signal.SIGKILL)
    shutil.rmtree(stack.ground.servers["Valkey"].folder)
    stack.ground.revive("Valkey")


def restart_postgresql(stack):
    stack.ground.end("PostgreSQL", signal.SIGINT)
    stack.ground.revive("PostgreSQL")


HARMS = [nothing, empty_redis, kill_redis, kill_redis_and_its_file, restart_postgresql]


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_a_key_names_one_task_whatever_dies(stack, run, figures, harm):
    seed = a_seed()
    known, new = run.request("known"), run.request("new")
    task = run.insist(known).body["id"]
    run.await_ends()
    asked = [*[known] * CALLERS, *[other_body(known)] * CALLERS, *[new] * CALLERS]
    random.Random(seed).shuffle(asked)
    with ThreadPoolExecutor(CALLERS) as callers:
        calls = [(one, callers.submit(run.insist, one)) for one in asked]
        harm(stack)
        wait([call for _, call in calls])
    answers = {"known": [], "other": [], "new": []}
    for one, call in calls:
        kind = "other" if one not in (known, new) else "known" if one is known else "new"
        answers[kind].append(call.result())
    assert {(one.status, one.body.get("id")) for one in answers["known"]} == {(200, task)}
    assert {(one.status, one.body["type"]) for one in answers["other"]} == {
        (422, "idempotency_key_reused")
    }
    assert {one.status for one in answers["new"]} <= {200, 202}
    assert len({one.body["id"] for one in answers["new"]}) == 1
    run.await_ends()
    stack.await_rebuild()
    assert run.insist(other_body(new)).status == 422
    assert run.complaints() == []
    assert starts(stack, set(run.ids)) == {run.label("known"): 1, run.label("new"): 1}
    figures.tell(
        "P8", f"{harm.__name__}: {3 * CALLERS} callers at once, two keys: one id and one run each"
    )


def other_body(request):
    return request | {"payload": request["payload"] | {"sleep_seconds": 0.001}}
