"""The relay publishes all outbox rows unchanged, and no row blocks the others."""

import pytest
from msgspec import Raw

from taskmill.core import codec, topics
from taskmill.core.errors import StoreUnavailable
from taskmill.submission.relay import ROUNDS, ROWS_AT_A_TIME, Relay
from tests.builders import a_fresh_envelope, a_new_id
from tests.unit.world import Away, World


@pytest.fixture
def world():
    return World()


def accepted_without_the_log(world, count=1, **others):
    world.log.is_away = True
    receipts = world.submit(*(world.request(id=a_new_id()) for _ in range(count)), **others)
    world.log.is_away = False
    return [one.task.id for one in receipts]


def published(world):
    return [task.id for task in world.log.tasks(topics.PENDING)]


def test_what_is_kept_is_published_and_then_kept_no_more(world):
    ids = accepted_without_the_log(world, 3)
    assert world.relay() == 3
    assert published(world) == ids
    assert world.relay() == 0


def test_a_task_that_was_kept_runs_once_and_ends(world):
    (task_id,) = accepted_without_the_log(world)
    world.let_holds_end()
    world.publish_due()
    world.relay()
    world.dispatch()
    world.work()
    assert world.performed == [task_id]


def test_a_deferred_task_that_was_kept_runs_once_and_ends(world):
    (task_id,) = accepted_without_the_log(world, admission=Away(), records=Away())
    world.relay()
    world.dispatch()
    world.work()
    assert world.performed == [task_id]


def test_a_row_is_published_as_it_was_written(world):
    newer = codec.encode(a_fresh_envelope())[:-1] + b',"only_newer":{"x": 1.10}}'
    world.outbox.put(newer, (a_new_id(), "s", 1))
    world.relay()
    (record,) = world.log.records(topics.PENDING)
    assert newer in record.value


def test_without_the_log_everything_stays_and_is_published_later(world):
    ids = accepted_without_the_log(world, 2)
    world.log.is_away = True
    with pytest.raises(StoreUnavailable):
        world.relay()
    world.log.is_away = False
    assert world.relay() == 2
    assert published(world) == ids


def test_a_relay_that_dies_before_its_mark_only_publishes_again(world):
    (task_id,) = accepted_without_the_log(world)

    class DiesAfterTheFlush:
        send_pending = world.log.send_pending

        def flush(self):
            world.log.flush()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Relay(world.stores(bus=DiesAfterTheFlush())).run()
    assert world.relay() == 1
    assert published(world) == [task_id, task_id]
    world.dispatch()
    world.work()
    assert world.performed == [task_id]


def test_what_the_log_never_takes_is_put_aside_with_the_reason_and_the_others_flow(world):
    good = [a_fresh_envelope() for _ in range(4)]
    too_large = a_fresh_envelope(payload=Raw(b'"%b"' % (b"x" * 2_200_000)))
    world.outbox.add([*good[:2], too_large, *good[2:]])
    world.relay()
    assert set(published(world)) == {task.id for task in good}
    (parked,) = [kept for kept in world.outbox.kept if kept.parked_reason]
    assert parked.name[0] == too_large.id
    assert "bytes" in parked.parked_reason
    assert world.relay() == 0


def test_what_is_no_envelope_is_put_aside_with_the_reason_and_the_others_flow(world):
    world.outbox.put(b'{"v": 1}', (a_new_id(), "s", 1))
    (task_id,) = accepted_without_the_log(world)
    world.relay()
    assert published(world) == [task_id]
    assert "not an envelope" in world.outbox.kept[0].parked_reason


def test_what_another_relay_holds_is_passed_over(world):
    accepted_without_the_log(world, 2)
    with world.outbox.held(most=1):
        assert world.relay() == 1
    assert world.relay() == 1


def test_a_long_line_is_published_in_rounds_that_end(world):
    world.outbox.add([a_fresh_envelope() for _ in range(ROWS_AT_A_TIME + 1)])
    assert world.relay() == ROWS_AT_A_TIME + 1
    assert ROUNDS * ROWS_AT_A_TIME >= 10_000
