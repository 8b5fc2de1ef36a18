"""Recorders that crash during one transaction; a separate program, because it forks."""

import json
import os
import sys

import psycopg

from taskmill.ledger.projection import Applied, LedgerBatch, LedgerFold, Quarantined
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.ledger import PostgresLedger
from tests.builders import an_envelope, deferred, died, started, succeeded

EXIT_CODE = 137
TASKS = [f"01a1b2c3-0000-7000-8000-{number:012x}" for number in range(4)]


def the_batch():
    """Return a batch that needs every statement: an old task, ends, a death, a redrive."""
    queued, running, done, dead = (an_envelope(id=one, generation=9) for one in TASKS)
    again = an_envelope(id=TASKS[3], generation=10, submitted=9)
    answer = [queued, running, started(running), done, deferred(done), succeeded(done), dead, again]
    story = LedgerFold()
    story.add([*answer, died(dead), died(again)])
    return LedgerBatch(
        rows=list(story.rows.values()),
        history=list(story.history.values()),
        quarantined=[
            Quarantined(
                topic="tasks.pending",
                partition=0,
                offset=4,
                member=0,
                reason="no parcel",
                value=b"?",
                at_ms=1,
            )
        ],
        applied=[
            Applied(topic=topic, partition=0, first=0, next=5, as_of_ms=1)
            for topic in ("tasks.pending", "tasks.events")
        ],
    )


def die_behind(statement):
    """Crash the process after the server has executed exactly so many statements."""
    execute, so_far = psycopg.Connection.execute, 0

    def counted(connection, *given, **named):
        nonlocal so_far
        if so_far == statement:
            with connection.pipeline():
                pass  # its end waits for the answers to what was sent
            os._exit(EXIT_CODE)
        so_far += 1
        return execute(connection, *given, **named)

    psycopg.Connection.execute = counted


def die_before_the_commit():
    leave = psycopg.Pipeline.__exit__

    def left(pipeline, *how):
        leave(pipeline, *how)
        os._exit(EXIT_CODE)

    psycopg.Pipeline.__exit__ = left


def exit_code_of(dsn, line):
    """Record in a separate process that dies at this line, if it gets there."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if line == "before commit":
        die_before_the_commit()
    elif line is not None:
        die_behind(line)
    PostgresLedger(Database(dsn)).record(the_batch())
    os._exit(0)


if __name__ == "__main__":
    dsn, *lines = map(json.loads, sys.argv[1:])
    sys.stdout.write(json.dumps([exit_code_of(dsn, line) for line in lines]))
