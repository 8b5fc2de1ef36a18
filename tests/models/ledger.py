"""The ledger's knowledge of one task, and how facts fold into it."""

from functools import cache
from typing import NamedTuple

from tests.models.rules import Rules
from tests.models.shard import FINAL, Fact

_LEADS_TO = {"submitted": "queued", "admitted": "queued", "started": "running"}
_LEADS_TO |= {
    "changed": "scheduled",
    "deferred": "retrying",
    **{status: status for status in FINAL},
}
_RANKS = {"scheduled": 0, "queued": 0, "running": 2, "retrying": 3, **dict.fromkeys(FINAL, 4)}


class Row(NamedTuple):
    generation: int = 0
    turn: int = 0
    status: str = ""
    """Empty: the ledger is silent."""
    token: int = 0
    largest_token: int = 0
    submission: int = 0
    body: str = "?"
    """A question mark while no submission has arrived."""
    body_of: int = -1
    """The generation whose body it holds."""
    asked_of: int = 0
    """The last generation whose cancellation was requested."""

    @property
    def cancel_requested(self) -> bool:
        return self.asked_of == self.generation

    @property
    def is_closed(self) -> bool:
        return self.status in FINAL

    @property
    def waits_for(self) -> tuple[int, int]:
        """The generation and the turn that it is in or waits for."""
        return self.generation, self.turn + (self.status == "retrying")

    def standing(self, rules: Rules) -> tuple[int, bool, int, int, int]:
        closed = self.is_closed and rules.an_end_closes_its_generation
        return self.generation, closed, self.turn, _RANKS.get(self.status, -1), self.token

    def is_further_than(self, generation: int, turn: int) -> bool:
        if self.generation != generation:
            return self.generation > generation
        return self.is_closed or self.waits_for > (generation, turn)


@cache
def fold(row: Row, fact: Fact, rules: Rules) -> Row:
    """Fold a fact into *row*: late, repeated and reordered facts give the same result."""
    if fact.kind == "asked":
        return row._replace(asked_of=max(row.asked_of, fact.generation))
    status = _LEADS_TO[fact.kind]
    largest = max(row.largest_token, fact.token)
    new = row._replace(generation=fact.generation, turn=fact.turn, status=status, token=fact.token)
    wins = new.standing(rules) > row.standing(rules) or not rules.standing_decides
    result = (new if wins else row)._replace(largest_token=largest)
    if fact.body and row.body_of < fact.generation <= result.generation:
        return result._replace(body=fact.body, submission=fact.submission, body_of=fact.generation)
    return result
