"""One poison task cannot stop others (P13)."""

from taskmill.domain import topics
from taskmill.domain.task import TaskType
from tests.faults.log import append
from tests.faults.run import Run, last_end_ms, now_ms
from tests.waiting import eventually

GOOD = 1_000
ILL = {"raise": "failed", "exit": "poison", "kill": "poison", "hang": "timeout"}
BYTES = b"\x00\xff never a task"
TOPIC = topics.worker(TaskType("probe"))
BOUND_SECONDS = 60
"""The promise says 30, and holds for one killer. Two in turn are six deaths, each of which costs a
lease and what the mapping's back-off adds to it."""


def test_one_poison_task_cannot_stop_others(stack, run, figures):
    clean = Run(stack)
    clean_seconds = seconds_for(clean, [clean.request(n) for n in range(GOOD)])
    once = {"max_attempts": 1, "timeout_seconds": 1}
    bad = [run.request(f"{ill}", fields=once, ill=ill) for ill in ILL]
    good = [run.request(n) for n in range(GOOD)]
    run.expected_dead |= {run.label(ill) for ill in ILL}
    append(stack, TOPIC, BYTES)
    run.submit_many([*good[: GOOD // 2], *bad, *good[GOOD // 2 :]], batch=100, callers=2)
    run.await_ends(within=120)
    history = run.verify()
    rows = {row.label: row for row in history.rows}
    healthy = [rows[one["idempotency_key"]] for one in good]
    seconds = (max(row.finished_at_ms for row in healthy) - run.began_ms) / 1000
    all_seconds = (last_end_ms(history) - run.began_ms) / 1000
    figures.tell(
        "P13",
        f"{GOOD:,} good tasks: {clean_seconds:.1f} s alone, {seconds:.1f} s beside 5 bad ones, "
        f"which were dead after {all_seconds:.1f} s",
    )
    assert {row.status for row in healthy} == {"succeeded"}
    assert {ill: rows[run.label(ill)].reason for ill in ILL} == ILL
    assert {ill: rows[run.label(ill)].losses for ill in ("exit", "kill")} == {"exit": 3, "kill": 3}
    eventually(lambda: kept(stack), within=30, reason="the bytes are in quarantine")
    assert seconds <= clean_seconds + BOUND_SECONDS


def seconds_for(run, requests):
    run.began_ms = now_ms()
    run.submit_many(requests, batch=100, callers=2)
    run.await_ends()
    return (last_end_ms(run.history()) - run.began_ms) / 1000


def kept(stack):
    found = stack.ask("SELECT value FROM quarantine WHERE topic = %s", TOPIC)
    return [bytes(value) for (value,) in found] == [BYTES]
