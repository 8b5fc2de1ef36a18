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
    def __init__(self, session: Session, *, places: int, new_word: Callable[[], str]) -> None:
        self._session = session
        self._places = places
        self._new_word = new_word
        self._take = scripts.load("submission/take_place")

    @contextmanager
    def place(self) -> Iterator[bool]:
        """Hold a slot if one is free; without Redis there is none."""
        word = self._new_word()
        try:
            has_place = self._ask(word)
        except StoreUnavailable:
            has_place = False
        try:
            yield has_place
        finally:
            if has_place:
                self._leave(word)

    def _ask(self, word: str) -> bool:
        longest = in_ms(LONGEST_WAIT)
        source = self._take.source
        return bool(
            self._session.command("EVAL", source, 1, WAITING_PLACES, word, self._places, longest)
        )

    def _leave(self, word: str) -> None:
        try:
            self._session.command("ZREM", WAITING_PLACES, word)
        except StoreUnavailable:
            return  # the slot is released when its time is over
