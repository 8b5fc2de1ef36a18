"""What the tests of use cases share."""

import pytest

from tests.unit.schedules.desk import Desk


@pytest.fixture
def desk():
    return Desk()
