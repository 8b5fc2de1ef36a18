"""Reads the history of a running system, with which tests compare responses."""

import json

import psycopg


def history(stack, task_id):
    """Return the facts of a task in order, as (kind, turn)."""
    with _connected(stack) as connection:
        return connection.execute(
            "SELECT kind, turn FROM facts WHERE task_id = %s ORDER BY turn, at, kind", (task_id,)
        ).fetchall()


def ends(stack, ids):
    """Return how often each of these tasks ended in each way, by the history."""
    with _connected(stack) as connection:
        return connection.execute(
            "SELECT outcome, count(*), count(DISTINCT task_id) FROM attempts"
            " WHERE task_id = ANY(%s::uuid[]) GROUP BY outcome ORDER BY outcome",
            (list(ids),),
        ).fetchall()


def statuses(stack, ids):
    with _connected(stack) as connection:
        return dict(
            connection.execute(
                "SELECT status, count(*) FROM tasks WHERE id = ANY(%s::uuid[]) GROUP BY status",
                (list(ids),),
            ).fetchall()
        )


def kept(stack, ids):
    """Return status, payload and result of these tasks by id; values stay undecoded."""
    with _connected(stack) as connection:
        rows = connection.execute(
            "SELECT id::text, status, payload::text, result::text FROM tasks"
            " WHERE id = ANY(%s::uuid[])",
            (list(ids),),
        ).fetchall()
    return {task: rest for task, *rest in rows}


def quarantined(stack, topic):
    with _connected(stack) as connection:
        return connection.execute(
            "SELECT value, reason FROM quarantine WHERE topic = %s", (topic,)
        ).fetchall()


def outdate_a_schedule(stack, name, task):
    """Create a schedule as if its type had accepted other payloads then."""
    with _connected(stack) as connection:
        connection.execute(
            "INSERT INTO schedules (tenant, name, definition, is_managed, decided_at, created_at,"
            " changed_at) VALUES ('default', %s, %s, FALSE, now(), now(), now())",
            (name, json.dumps({"task": task, "cron": "@daily"})),
        )


def _connected(stack):
    address = stack.client.platform()["stores"]["PostgreSQL"]["address"]
    return psycopg.connect(address, autocommit=True)
