"""A single stall of the machine fails no measurement; repeated lateness does."""

from tests.faults.measured import exceeding

MOST = 10


def told(*found):
    measurements = iter(found)
    return exceeding(lambda: (next(measurements), MOST))


def test_what_holds_is_measured_once():
    assert told(10) == []


def test_behind_one_that_does_not_hold_two_tell():
    assert told(11, 9, 10) == []


def test_what_does_not_hold_again_is_told():
    assert told(11, 9, 12) == [12]
    assert told(11, 12, 9) == [12]
