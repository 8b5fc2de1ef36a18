"""Slots for waiting requests, shared by all processes of the gateway."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from taskmill.core.errors import StoreUnavailable
from taskmill.core.time import in_ms
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import WAITING_PLACES
from taskmill.stores.redis.session import Session

LONGEST_WAIT = timedelta(seconds=30)


class RedisWaiters:
    def __init__(self, session: Session, *, places: int, new_nonce: Callable[[], str]) -> None:
        self._session = session
        self._places = places
        self._new_nonce = new_nonce
        self._take = scripts.load("submission/take_place")

    @contextmanager
    def place(self) -> Iterator[bool]:
        """Hold a slot if one is free; without Redis there is none."""
        nonce = self._new_nonce()
        try:
            has_place = self._ask(nonce)
        except StoreUnavailable:
            has_place = False
        try:
            yield has_place
        finally:
            if has_place:
                self._leave(nonce)

    def _ask(self, nonce: str) -> bool:
        longest = in_ms(LONGEST_WAIT)
        source = self._take.source
        return bool(
            self._session.command("EVAL", source, 1, WAITING_PLACES, nonce, self._places, longest)
        )

    def _leave(self, nonce: str) -> None:
        try:
            self._session.command("ZREM", WAITING_PLACES, nonce)
        except StoreUnavailable:
            return  # the slot is released when its time is over
