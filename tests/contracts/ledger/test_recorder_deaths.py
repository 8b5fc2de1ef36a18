"""A recorder that dies in its transaction leaves nothing; the next one writes all of it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from taskmill.stores.memory.ledger import MemoryLedger
from tests.contracts.a_recorder import EXIT_CODE, the_batch
from tests.contracts.ledgers import MemoryTables, PostgresTables

ROOT = Path(__file__).parents[3]
STATEMENTS = 8
"""Rows, late ones, history, dead letters kept and left, one of quarantine, two of positions."""


@pytest.fixture
def tables(database):
    owner, app = database
    tables = PostgresTables(app, owner)
    yield tables
    tables.close()


def record(tables, *lines):
    """Let one recorder after another die at these lines; return their exit codes."""
    command = [sys.executable, "-m", "tests.contracts.a_recorder"]
    path = ":".join(str(ROOT / part) for part in ("", "shared", "localstack"))
    answer = subprocess.run(
        [*command, *map(json.dumps, (tables.dsn, *lines))],
        cwd=ROOT,
        env={"PYTHONPATH": path},
        capture_output=True,
        timeout=60,
        check=True,
    )
    return json.loads(answer.stdout)


def contents(tables):
    quarantined = [line[:4] for line in tables.quarantine()]
    return tables.table(), tables.history(), quarantined, dict(tables.rows.applied())


def test_a_recorder_that_dies_between_two_statements_leaves_nothing(tables):
    lines = [*range(STATEMENTS), "before commit"]
    assert record(tables, *lines) == [EXIT_CODE] * len(lines)
    assert contents(tables) == ([], [], [], {})
    assert record(tables, STATEMENTS) == [0], "there is no later statement to die after"
    whole = MemoryTables(MemoryLedger())
    whole.ledger.record(the_batch())
    assert contents(tables) == contents(whole)
    assert record(tables, *lines, None) == [*[EXIT_CODE] * len(lines), 0]
    assert contents(tables) == contents(whole)
