"""Applications that enqueue inside transactions of their own, next to rows of their own."""

import json
import socket
from contextlib import suppress

import psycopg

from tests.faults.history import Submit

_TABLE = """
CREATE TABLE IF NOT EXISTS orders (
    label text PRIMARY KEY, run text NOT NULL, task_id uuid NOT NULL
);
GRANT SELECT, INSERT ON orders TO taskmill_enqueue
"""
ORDER = """
INSERT INTO orders (label, run, task_id)
VALUES (%s, %s, taskmill.enqueue(%s, %s, idempotency_key => %s, metadata => %s))
"""


def open_the_shop(stack):
    with psycopg.connect(stack.ground.own_dsn) as owner:
        owner.execute(_TABLE)


def connect(stack, **options):
    port = stack.ground.proxies["PostgreSQL"].upstream
    return psycopg.connect(stack.ground.dsn("taskmill_enqueue", port=port), **options)


def place_order(connection, run, number, *, is_keyed=True):
    """Write an order and ask for its task, in the transaction that is open."""
    asked = run.request(number)
    label = run.label(number)
    key = label if is_keyed else None
    payload, metadata = json.dumps(asked["payload"]), json.dumps(asked["metadata"])
    connection.execute(ORDER, (label, run.name, asked["type"], payload, key, metadata))
    return label


def hang_up(connection):
    """Let go of the server without a word, as a process that is killed does."""
    with suppress(OSError), socket.socket(fileno=connection.fileno()) as line:
        line.shutdown(socket.SHUT_RDWR)
        line.detach()
    connection.close()


def commit_and_hang_up(connection):
    """Ask for the commit, and never hear of it."""
    connection.pgconn.send_query(b"COMMIT")
    connection.pgconn.flush()
    hang_up(connection)


def book(run):
    """Let the run know what was committed: nobody else may have made a task."""
    rows = run.stack.ask("SELECT label, task_id::text FROM orders WHERE run = %s", run.name)
    run.ids.update(rows)
    run.submits += [Submit(label=label, body=label, key=label, id=name) for label, name in rows]
    return dict(rows)
