"""The recorder takes a whole batch; without the ledger, the log waits."""

import pytest

from functions.recorder.handler import lambda_handler as recorder
from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import TaskId
from tests.builders import an_envelope
from tests.unit.stage import NOW, Stage


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def test_without_the_ledger_the_whole_batch_comes_again(stage):
    task = an_envelope(generation=NOW)
    stage.log.send_pending([task])
    stage.log.flush()
    stage.ledger.is_away = True
    with pytest.raises(StoreUnavailable):
        stage.run(recorder, topics.PENDING)
    stage.ledger.is_away = False
    assert stage.run(recorder, topics.PENDING) == {"batchItemFailures": []}
    assert set(stage.ledger.rows) == {task.id}


def test_what_the_ledger_cannot_hold_stands_in_quarantine_and_stops_nobody(stage):
    fine = an_envelope(id=TaskId("019f0000-0000-7000-8000-000000000001"), generation=NOW)
    beyond = an_envelope(id=TaskId("019f0000-0000-7000-8000-000000000002"), attempt=9)
    stage.log.send_pending([fine, beyond])
    stage.log.flush()
    assert stage.run(recorder, topics.PENDING) == {"batchItemFailures": []}
    assert set(stage.ledger.rows) == {fine.id}
    (lost,) = stage.ledger.quarantined.values()
    assert (lost.topic, lost.offset, lost.member) == (topics.PENDING, 0, 1)
    assert stage.ledger.applied() == {(topics.PENDING, 0): 1}
