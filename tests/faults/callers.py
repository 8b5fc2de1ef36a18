"""Applications that enqueue inside their own transactions, next to their own rows."""

import json
import os
import random
import socket
from contextlib import closing, contextmanager, suppress

import psycopg

from tests.faults.history import Submit
from tests.waiting import eventually

_TABLE = """
CREATE TABLE IF NOT EXISTS orders (
    label text PRIMARY KEY, run text NOT NULL, task_id uuid NOT NULL
);
GRANT SELECT, INSERT ON orders TO taskmill_enqueue
"""
_ORDER = """
INSERT INTO orders (label, run, task_id)
VALUES (%s, %s, taskmill.enqueue(%s, %s, idempotency_key => %s, metadata => %s))
"""
_CALLERS = """
SELECT count(*) FROM pg_stat_activity WHERE usename = 'taskmill_enqueue'
"""
_WAITING = """
SELECT count(*) FROM enqueued
WHERE done_at IS NULL AND task_id IN (SELECT task_id FROM orders WHERE run = %s)
"""


def open_the_shop(stack):
    with psycopg.connect(stack.ground.own_dsn) as owner:
        owner.execute(_TABLE)


def connect(stack):
    port = stack.ground.proxies["PostgreSQL"].upstream
    return psycopg.connect(stack.ground.dsn("taskmill_enqueue", port=port))


def place_order(connection, run, number, *, is_keyed=True):
    """Insert an order and enqueue its task, in the open transaction."""
    asked = run.request(number)
    label = run.label(number)
    payload, metadata = json.dumps(asked["payload"]), json.dumps(asked["metadata"])
    key = label if is_keyed else None
    connection.execute(_ORDER, (label, run.name, asked["type"], payload, key, metadata))
    return label


@contextmanager
def an_open_transaction(stack, run, number):
    """Place an order and let the others commit before it; it starts first and ends last."""
    with closing(connect(stack)) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        place_order(connection, run, number)
        yield
        connection.commit()


def hang_up(connection):
    """Close the connection silently, as a killed process does."""
    with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)
    connection.close()


def commit_and_hang_up(connection):
    """Request the commit, and never receive its result."""
    connection.pgconn.send_query(b"COMMIT")
    connection.pgconn.flush()
    hang_up(connection)


def commit(connection):
    connection.commit()


def roll_back(connection):
    connection.rollback()


ENDS = (commit, commit, commit, roll_back, roll_back, hang_up, commit_and_hang_up)


def trade(stack, run, numbers, chance):
    """Place orders one after the other, ending each transaction in one of all the ways."""
    connection = connect(stack)
    try:
        for number in numbers:
            if connection.closed:
                connection = connect(stack)
            if chance.random() < 0.2:  # part of it may be taken back
                with connection.transaction(force_rollback=True):
                    place_order(connection, run, f"{number} taken back")
            place_order(connection, run, number, is_keyed=chance.random() < 0.5)
            chance.choice(ENDS)(connection)
    finally:
        connection.close()


def book(run):
    """Record what was committed, and return it: nobody else may have created a task."""
    stack = run.stack
    eventually(
        lambda: stack.ask(_CALLERS) == [(0,)],
        within=60,
        reason="PostgreSQL noticed",
    )
    rows = stack.ask("SELECT label, task_id::text FROM orders WHERE run = %s", run.name)
    run.ids.update(rows)
    run.submits += [Submit(label=label, body=label, key=label, id=name) for label, name in rows]
    eventually(lambda: not are_some_waiting(run), within=60, reason="nobody waits")
    return dict(rows)


def are_some_waiting(run):
    return run.stack.ask(_WAITING, run.name) != [(0,)]


def seeded(run, number):
    return random.Random(f"{run.name} {number}")
