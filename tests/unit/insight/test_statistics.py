"""Statistics are shared by all requests within a moment."""

import pytest

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.insight.gather import KEPT, Board
from taskmill.insight.types import LaneState, states_of
from taskmill.submission.outbox import OutboxBacklog
from tests.builders import ECHO, a_fresh_envelope
from tests.unit.world import Away, World

READERS = topics.readers([ECHO])


@pytest.fixture
def world():
    return World()


@pytest.fixture
def board(world):
    ports = world.ports
    return Board(
        ports.figures,
        ports.readers,
        ports.requests,
        ports.outbox,
        readers=READERS,
        states=lambda: states_of([ECHO], ports, {}),
        clock=world.clock,
    )


def lags(answer):
    return {reader.name: lag for reader, lag in answer.lags.items()}


def test_each_reader_has_its_lag(world, board):
    world.admitted()
    world.log.commit(READERS[0], 1)
    assert lags(board.look()) == {
        "dispatcher": 0,
        "recorder-pending": 1,
        "recorder-events": 0,
        "recorder-dlq": 0,
        "inbox": 0,
        "worker-echo": 1,
    }


def test_the_state_of_each_type_is_there_even_without_redis(world, board):
    world.admitted()
    (state,) = board.look().states.values()
    assert (state.lane, state.count.classes[1].waiting) == (LaneState.LIVE, 1)
    world.ports.lanes = Away()
    world.wait(KEPT)
    (state,) = board.look().states.values()
    assert (state.lane, state.count) == (LaneState.UNKNOWN, None)


def test_who_asks_within_a_moment_gets_the_same(world, board):
    first = board.look()
    world.admitted()
    assert board.look() is first
    world.wait(KEPT)
    assert lags(board.look())["worker-echo"] == 1


def test_it_is_told_what_waits_in_the_outbox_and_what_the_log_never_takes(world, board):
    world.outbox.add([a_fresh_envelope(), a_fresh_envelope()])
    with world.outbox.held(most=1) as held:
        held.park(held.rows[0], "it is too large")
    assert board.look().outbox == OutboxBacklog(waiting=1, parked=1)


def test_it_is_as_of_no_later_than_what_waits_in_the_outbox(world, board):
    assert board.look().figures.as_of_ms == world.clock()
    accepted_ms = world.clock()
    world.outbox.add([a_fresh_envelope()])
    world.wait(KEPT)
    assert board.look().figures.as_of_ms == accepted_ms


@pytest.mark.parametrize(("store", "named"), [("log", "Kafka"), ("ledger", "PostgreSQL")])
def test_a_store_that_is_away_is_named(world, board, store, named):
    getattr(world, store).is_away = True
    with pytest.raises(StoreUnavailable, match=named):
        board.look()
