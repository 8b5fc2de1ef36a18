"""A shard that lost data, or may have, answers Cold and changes nothing."""

import pytest

from taskmill.core.owed import Cleared, Cold
from taskmill.core.view import Absent, TaskView
from taskmill.execution.lease import Beat
from taskmill.submission.submission import owed_submission
from tests.builders import a_claim, a_fresh_envelope, a_lease, a_request, a_success
from tests.contracts.hot import admitted


@pytest.fixture(params=["emptied", "restarted"])
def cold(request, hot):
    """Return a hot store that lost data, or may have."""
    if request.param == "emptied":
        hot.forget()
    else:
        hot.become_another_server()
    return hot


def test_nothing_is_admitted(cold):
    assert cold.admission().admit([a_request()]) == [Cold()]


def test_nothing_is_cleared(cold):
    published = owed_submission(a_fresh_envelope())
    assert cold.admission().clear([published]) == [Cleared.COLD]
    assert cold.due().clear([published]) == [Cleared.COLD]


def test_nothing_is_taken(cold):
    assert cold.due().take(most=10) == []


def test_nothing_is_forgotten(cold):
    assert cold.due().forget_expired(most=10) == 0


def test_nothing_is_claimed(cold):
    assert cold.leases().claim([a_claim(a_fresh_envelope())]) == [Cold()]


def test_no_lease_is_extended(cold):
    assert cold.leases().extend([a_lease(a_fresh_envelope(), 1)]) == [Beat.COLD]


def test_nothing_is_settled(cold):
    assert cold.leases().settle([a_success(a_fresh_envelope(), 1)]) == [Cold()]


def test_nothing_is_told(cold):
    assert cold.records().read([a_fresh_envelope().id]) == [Cold()]


def test_what_a_cold_shard_was_asked_has_left_no_trace(cold):
    task = a_fresh_envelope()
    cold.admission().admit([task])
    cold.leases().claim([a_claim(task)])
    cold.leases().settle([a_success(task, 1)])
    cold.open()
    assert cold.records().read([task.id]) == [Absent()]


def test_a_server_that_is_vouched_for_again_knows_what_it_knew(hot):
    task = admitted(hot.admission(), a_request())
    hot.become_another_server()
    hot.open()
    assert isinstance(hot.records().read([task.id])[0], TaskView)


def test_an_emptied_server_knows_nothing_after_it_was_opened(hot):
    task = admitted(hot.admission(), a_request())
    hot.forget()
    hot.open()
    assert hot.records().read([task.id]) == [Absent()]
