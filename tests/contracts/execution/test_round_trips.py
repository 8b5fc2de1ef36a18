"""Claiming, extending or settling a group of tasks takes one round trip to Redis each."""

import pytest

from taskmill.stores.redis.session import Session
from tests.builders import a_claim, a_lease, a_request, a_source, a_success
from tests.contracts.hot import InValkey, admitted

TASKS = 200


class Counting(Session):
    exchanges = 0

    def _exchange(self, connection, commands):
        self.exchanges += 1
        return super()._exchange(connection, commands)


@pytest.fixture
def session(valkey):
    session = Counting(valkey)
    yield session
    session.close()


def exchanged(session, work):
    before = session.exchanges
    answers = work()
    return session.exchanges - before, answers


def test_a_group_is_claimed_prolonged_and_settled_in_one_exchange_each(session):
    hot = InValkey(session)
    tasks = [admitted(hot.admission(), a_request(f"k{number}")) for number in range(TASKS)]
    warm = admitted(hot.admission(), a_request("warm"))
    leases = hot.leases()
    (first,) = leases.claim([a_claim(warm)])
    leases.extend([a_lease(warm, first.token)])
    leases.settle([a_success(warm, first.token)])  # by now the server knows all scripts
    claims = [a_claim(task, source=a_source(0, index)) for index, task in enumerate(tasks)]

    trips, claimed = exchanged(session, lambda: leases.claim(claims))
    assert trips == 1
    pairs = [(task, answer.token) for task, answer in zip(tasks, claimed, strict=True)]
    trips, beats = exchanged(session, lambda: leases.extend([a_lease(*pair) for pair in pairs]))
    assert (trips, set(beats)) == (1, {"held"})
    trips, ends = exchanged(session, lambda: leases.settle([a_success(*pair) for pair in pairs]))
    assert trips == 1
    assert [one.facts for one in ends] == [a_success(*pair).facts for pair in pairs]
