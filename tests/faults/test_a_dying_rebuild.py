"""When a process dies during a rebuild of Redis, another one finishes it.

By its name it runs before those that fill the ledger: how long a rebuild takes depends on that.
"""

from tests.faults.stack import await_death

TASKS = 200
QUICK = {"TASKMILL_LEASE_MS": 500, "TASKMILL_HEARTBEAT_MS": 250, "WORD_SECONDS": 5}
"""Shortens the waits: a lease before each rebuild, and a nonce after each crash."""


def test_a_rebuild_that_dies_before_the_marker_is_followed_by_another(stack, run, scheduler):
    """One scheduler dies in its first rebuild; the next one dies in its tenth.

    Nobody works while it rebuilds, and therefore it does so after less than a lease.
    """
    requests = [run.request(n) for n in range(2 * TASKS)]
    run.submit_many(requests[:TASKS])
    run.await_ends()
    begun, rest = requests[TASKS : TASKS + TASKS // 2], requests[TASKS + TASKS // 2 :]
    point = "rebuild before the marker"
    with stack.standing_still("Scheduler"):
        process = scheduler(f"{point}:1", seconds=180, **QUICK)
        stack.forget_redis()
        run.submit_many(begun)
        await_death(process)
        process = scheduler(f"{point}:10", seconds=180, **QUICK)
        for _ in range(9):  # the first time, it is what the dead one left
            stack.await_rebuild()
            stack.forget_redis()
        run.submit_many(rest)
        await_death(process)
    stack.await_rebuild()
    run.await_ends()
    assert run.complaints() == []
