"""A reader gets the task, or an honest answer that it is unknown."""

from datetime import timedelta

import pytest

from taskmill.core import codec
from taskmill.core.lifetimes import KEY_WINDOW
from taskmill.core.task import Status
from taskmill.core.view import Nowhere, ReadRefused, TaskView, Unsure
from taskmill.ledger.await_ledger import LONGEST_CATCH_UP
from tests.builders import a_new_id
from tests.unit.world import Away, World


@pytest.fixture
def world():
    return World()


def test_the_record_answers_first(world):
    (task,) = world.admitted()
    found = world.find(task.id, ledger_rows=None, log_ends=None)
    assert (found.id, found.status) == (task.id, Status.QUEUED)


def test_without_redis_the_ledger_answers_for_what_has_ended(world):
    (task,) = world.admitted()
    world.work()
    world.record()
    found = world.find(task.id, records=Away())
    assert isinstance(found, TaskView)
    assert found.status is Status.SUCCEEDED


def test_without_redis_nobody_knows_of_what_has_not_ended(world):
    (task,) = world.admitted()
    world.record()
    assert isinstance(world.find(task.id, records=Away()), Unsure)


@pytest.mark.parametrize("is_known", [True, False])
def test_a_cold_shard_and_a_silent_ledger_are_no_answer(world, is_known):
    (task,) = world.admitted()
    world.hot.restart()
    assert isinstance(world.find(task.id if is_known else a_new_id()), Unsure)


def test_no_such_task_when_both_are_silent_and_the_ledger_has_seen_all(world):
    world.admitted()
    world.record()
    assert world.find(a_new_id()) == Nowhere()


def test_no_such_task_in_an_empty_world(world):
    assert world.find(a_new_id()) == Nowhere()


def test_a_ledger_that_is_behind_cannot_say_no(world):
    world.admitted()
    before = world.now
    assert world.find(a_new_id()) == Unsure("the ledger lags behind the log")
    assert timedelta(milliseconds=world.now - before) == LONGEST_CATCH_UP


def test_a_ledger_that_catches_up_in_time_answers(world):
    (task,) = world.admitted()
    world.work()
    world.hot.forget()
    world.hot.open()
    world.on_wait.append(world.record)
    assert world.find(a_new_id()) == Nowhere()
    assert world.find(task.id).status is Status.SUCCEEDED


@pytest.mark.parametrize("missing", ["ledger", "log"])
def test_without_a_store_that_must_be_asked_nobody_knows(world, missing):
    world.ledger.is_away = missing == "ledger"
    world.log.is_away = missing == "log"
    found = world.find(a_new_id())
    assert isinstance(found, Unsure)
    assert "cannot be reached" in found.why


def test_a_task_that_shows_up_in_the_ledger_only_is_not_denied(world):
    (task,) = world.admitted()
    world.hot.forget()
    world.hot.open()
    world.on_wait.append(world.record)
    assert isinstance(world.find(task.id), Unsure)


def test_a_task_that_stands_only_in_the_outbox_is_never_denied(world):
    world.log.is_away = True
    request = world.request("k")
    world.submit(request, admission=Away(), records=Away())
    world.log.is_away = False
    world.record()
    assert world.find(request.id) == Unsure("it was accepted and waits for Kafka")


def spilled_anew(world):
    """Reuse a key after its window, while Kafka is unavailable."""
    world.submit(world.request("k"))
    world.dispatch()
    world.work()
    world.record()
    world.wait(KEY_WINDOW)
    world.log.is_away = True
    (receipt,) = world.submit(world.request("k", submission="again"))
    assert receipt.is_spilled
    return receipt.task.id


def test_the_end_of_a_generation_is_not_told_while_the_next_waits_for_the_log(world):
    task_id = spilled_anew(world)
    found = world.find(task_id, records=Away())
    assert found == Unsure("it was accepted and waits for Kafka")


def test_what_the_ledger_knows_to_have_ended_is_told_though_it_is_still_in_the_outbox(world):
    """Kafka took it, and its answer was lost."""
    task_id = spilled_anew(world)
    world.log.is_away = False
    kept = codec.open_envelope(world.outbox.kept[0].row.envelope)
    world.log.send_pending([kept])
    world.log.flush()
    world.dispatch()
    world.work()
    world.record()
    found = world.find(task_id, records=Away())
    assert (found.status, found.generation) == (Status.SUCCEEDED, kept.generation)


def test_without_a_key_one_question_tells_what_has_ended(world):
    (task,) = world.admitted()
    world.work()
    world.record()
    found = world.find(task.id, records=Away(), outbox=None)
    assert found.status is Status.SUCCEEDED


def test_a_task_that_the_log_never_takes_is_told_to_be_lost(world):
    world.log.is_away = True
    request = world.request("k")
    world.submit(request, admission=Away(), records=Away())
    with world.outbox.held(most=1) as held:
        held.park(held.rows[0], "it is too large")
    world.log.is_away = False
    found = world.find(request.id)
    assert found.refused == ReadRefused("unpublishable", "it is too large", None)


def test_without_redis_and_the_log_a_task_in_the_outbox_is_not_denied(world):
    world.log.is_away = True
    request = world.request()
    world.submit(request)
    found = world.find(request.id, records=Away(), log_ends=Away())
    assert isinstance(found, Unsure)


def test_nobody_is_denied_a_task_while_the_outbox_cannot_be_read(world):
    world.record()
    world.outbox.is_away = True
    assert world.find(a_new_id()) == Unsure("PostgreSQL cannot be reached", is_away=True)
