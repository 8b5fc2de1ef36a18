"""Outbox rows may be committed in a different order than their numbers."""

from contextlib import closing, contextmanager
from types import SimpleNamespace

import psycopg
import pytest

from taskmill.core import codec, topics
from taskmill.stores.memory.log import MemoryLog
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.outbox import PostgresOutbox
from taskmill.submission.relay import Relay
from tests.builders import a_fresh_envelope, now_ms

ADD = (
    "INSERT INTO outbox (task_id, submission, generation, envelope, fingerprint)"
    " VALUES (%s, %s, %s, %s, 'f')"
)


class ByTheLastNumber(PostgresOutbox):
    """Returns only rows with increasing numbers: the faulty relay that we did not build."""

    last = 0

    @contextmanager
    def held(self, *, most):
        with super().held(most=most) as held:
            held.rows = [row for row in held.rows if row.number > self.last]
            self.last = max([self.last, *(row.number for row in held.rows)])
            yield held


def relayed_when_the_first_is_committed_last(outbox, dsn):
    log = MemoryLog(now_ms)
    first, second = a_fresh_envelope(), a_fresh_envelope()
    with psycopg.connect(dsn) as slow:
        slow.execute(ADD, (first.id, "s", first.generation, codec.encode(first).decode()))
        outbox.add([second])
        Relay(SimpleNamespace(outbox=outbox, bus=log)).run()
        assert [task.id for task in log.tasks(topics.PENDING)] == [second.id]
    Relay(SimpleNamespace(outbox=outbox, bus=log)).run()
    return {task.id for task in log.tasks(topics.PENDING)} == {first.id, second.id}


@pytest.mark.parametrize(("kind", "is_whole"), [(PostgresOutbox, True), (ByTheLastNumber, False)])
def test_a_row_that_is_committed_behind_a_later_one_is_relayed(database, kind, is_whole):
    with closing(Database(database[1])) as opened:
        assert relayed_when_the_first_is_committed_last(kind(opened), database[1]) is is_whole
