"""The records of what is in flight, in Redis."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from taskmill.core import codec
from taskmill.core.lifetimes import END_STAYS, ENDS_SOON, USUAL, Lifetimes
from taskmill.core.owed import Cold
from taskmill.core.time import in_ms
from taskmill.execution.lease import LOSSES_IN_COMPANY
from taskmill.lanes.lane import (
    Member,
    TurnIsFree,
    TurnIsGone,
    TurnIsOver,
    TurnLives,
    TurnState,
)
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import shard_keys
from taskmill.stores.redis.session import Call, Session


class RedisTurns:
    def __init__(
        self,
        session: Session,
        *,
        shards: int,
        lifetimes: Lifetimes = USUAL,
    ) -> None:
        self._session = session
        self._shards = shards
        self._adoption_age = in_ms(lifetimes.adoption_age)
        self._look = scripts.load("execution/look_at_turn")

    def look(self, members: Sequence[Member]) -> Sequence[TurnState]:
        calls = [self._call(member) for member in members]
        answers = self._session.call(self._look, calls, unreadable=[b"COLD"])
        return [_state(answer) for answer in answers]

    def _call(self, member: Member) -> Call:
        keys = shard_keys(member.id, self._shards)
        return [keys.marker, keys.record(member.id), keys.lifetimes], [
            member.id,
            member.generation,
            member.turn,
            LOSSES_IN_COMPANY,
            self._adoption_age,
            in_ms(ENDS_SOON),
            in_ms(END_STAYS),
        ]


def _state(answer: Any) -> TurnState:
    match answer:
        case [b"OVER", facts]:
            return TurnIsOver(codec.open_fact_list(facts))
        case [b"LIVES", left]:
            return TurnLives(timedelta(milliseconds=int(left)))
        case [b"FREE", alone]:
            return TurnIsFree(alone=alone == b"1")
        case [b"GONE"]:
            return TurnIsGone()
        case _:
            return Cold()
