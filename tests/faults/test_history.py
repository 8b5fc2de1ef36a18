"""Every change of a task is in its append-only history (P27)."""

import random
from functools import reduce

import msgspec
import psycopg
import pytest

from taskmill.core.facts import Fact
from taskmill.core.lifecycle import SUBMITTED_RANK
from taskmill.core.task import Status
from taskmill.ledger.projection import Row, merged, row_of
from taskmill.settings import Settings
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.whole_rows import PostgresWholeRows
from tests.faults.nemesis import Nemesis, kill
from tests.faults.run import a_seed
from tests.faults.stack import PLACES, WORKER

TASKS = 600
BETWEEN_EXITS = 2 * PLACES
"""So far apart, no two of them run beside each other: of three, the last would be poison."""

QUICK = {"retry": {"first_seconds": 0.5}, "max_attempts": 3}
_HISTORY = """
SELECT facts.task_id::text, kind, facts.generation, facts.turn, body::text, tasks.type, tenant
FROM facts INNER JOIN tasks ON facts.task_id = tasks.id WHERE task_id = ANY(%s::uuid[])
"""
_EDITS = ["UPDATE facts SET turn = 1", "DELETE FROM facts", "TRUNCATE facts", "DROP TABLE facts"]


def told_by(entry):
    """Return what one entry of the history says about its task's row."""
    task_id, kind, generation, turn, body, task_type, tenant = entry
    if kind in {"TaskSubmitted", "TaskAdmitted"}:  # both say no more than that it is in line
        return Row(
            id=task_id,
            type=task_type,
            tenant=tenant,
            status=Status.QUEUED,
            generation=generation,
            turn=turn,
            rank=SUBMITTED_RANK,
        )
    return row_of(msgspec.json.decode(body, type=Fact))


def rows_in_history(stack, ids):
    answer = {}
    for entry in stack.ask(_HISTORY, ids):
        answer.setdefault(entry[0], []).append(told_by(entry))
    return {task_id: reduce(merged, rows) for task_id, rows in answer.items()}


def rows_in_ledger(stack, ids):
    env = {"TASKMILL_POSTGRES_DSN": stack.ground.dsn("taskmill_app")}
    database = Database(Settings.from_env(env, needs=("postgres",)).postgres)
    try:
        rows = PostgresWholeRows(database).of(ids)
    finally:
        database.close()
    return {row.id: msgspec.structs.replace(row, spec=None) for row in rows}


def test_every_change_of_a_task_is_in_its_history(stack, run, figures):
    seed = a_seed()
    chance = random.Random(seed)
    ills = [("", 0), ("raise", 1), ("raise", 9)]
    chosen = [chance.choices(ills, [91, 6, 3])[0] for _ in range(TASKS)]
    for number in range(BETWEEN_EXITS // 2, TASKS, BETWEEN_EXITS):
        chosen[number] = ("exit", 1)
    run.submit_many(
        run.request(n, fields=QUICK, sleep_seconds=0.01, ill=ill, ill_runs=times)
        for n, (ill, times) in enumerate(chosen)
    )
    with Nemesis([kill(stack, WORKER)], seed=seed, between=(2, 3)).at_work():
        for number in range(0, TASKS, 20):
            stack.client.post(f"/v1/tasks/{run.ids[run.label(number)]}/cancel", {})
    run.expected_dead.update(
        run.label(n) for n, (ill, times) in enumerate(chosen) if (ill, times) == ("raise", 9)
    )
    run.await_ends()
    history = run.verify()
    ids = list(run.ids.values())
    folded, kept = rows_in_history(stack, ids), rows_in_ledger(stack, ids)
    different = [(folded.get(one), row) for one, row in kept.items() if folded.get(one) != row]
    figures.tell(
        "P27",
        f"{len(kept)} tasks, {len(history.facts):,} facts: each row is the fold of its history "
        f"(seed {seed})",
    )
    assert different == []
    assert len(kept) == TASKS


@pytest.mark.parametrize("edit", _EDITS)
def test_the_application_cannot_edit_the_history(stack, edit):
    with (
        psycopg.connect(stack.ground.dsn("taskmill_app")) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(edit)
