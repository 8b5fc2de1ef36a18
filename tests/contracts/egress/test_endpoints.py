"""Disabled webhook receivers."""

import pytest

from taskmill.egress.endpoints import MOST_DISABLED, DisabledEndpoint
from taskmill.stores.memory.egress import MemoryEndpoints
from taskmill.stores.redis.egress import RedisEndpoints
from taskmill.stores.redis.keys import DISABLED_ENDPOINTS
from taskmill.stores.redis.session import Session

SHOP = "https://shop.example/in"
BANK = "https://bank.example/in"


@pytest.fixture(params=["memory", "valkey"])
def endpoints(request):
    if request.param == "memory":
        yield MemoryEndpoints()
        return
    session = Session(request.getfixturevalue("valkey"))
    session.command("DEL", DISABLED_ENDPOINTS)
    yield RedisEndpoints(session)
    session.close()


def test_nobody_is_disabled_unasked(endpoints):
    assert not endpoints.is_disabled(SHOP)
    assert endpoints.disabled(most=10) == []


def test_who_is_disabled_stays_so_until_enabled(endpoints):
    endpoints.disable(SHOP, at_ms=1_794_000_000_001)
    assert endpoints.is_disabled(SHOP)
    assert not endpoints.is_disabled(BANK)
    assert endpoints.enable(SHOP)
    assert not endpoints.is_disabled(SHOP)
    assert not endpoints.enable(SHOP)


def test_the_latest_are_told_first_each_once_with_its_last_date(endpoints):
    endpoints.disable(SHOP, at_ms=1_794_000_000_001)
    endpoints.disable(BANK, at_ms=1_794_000_000_002)
    endpoints.disable(SHOP, at_ms=1_794_000_000_003)
    answer = [DisabledEndpoint(SHOP, 1_794_000_000_003), DisabledEndpoint(BANK, 1_794_000_000_002)]
    assert endpoints.disabled(most=10) == answer
    assert endpoints.disabled(most=1) == answer[:1]


def test_of_too_many_the_oldest_is_forgotten(endpoints):
    for number in range(MOST_DISABLED + 2):
        endpoints.disable(f"https://shop.example/{number}", at_ms=number)
    assert not endpoints.is_disabled("https://shop.example/1")
    assert endpoints.is_disabled("https://shop.example/2")
    assert len(endpoints.disabled(most=20_000)) == MOST_DISABLED
