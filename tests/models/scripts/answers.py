"""Declares the answers of a step function, and records which of them occurred."""

from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from tests.models.rules import Rules
from tests.models.shard import Reply, Shard

P = ParamSpec("P")

DECLARED: dict[str, frozenset[str]] = {}
GIVEN: dict[str, set[str]] = defaultdict(set)
UNREADABLE: dict[str, str] = {}
"""What each answers instead when the record was overwritten; empty: it continues."""


def answers(
    *words: str, unreadable: str = ""
) -> Callable[[Callable[P, Reply]], Callable[P, Reply]]:
    """Restrict a step function to the answers that its script's header names.

    When the record was overwritten, the script fails before it changes anything, and its caller
    gets *unreadable*.
    """

    def held(step: Callable[P, Reply]) -> Callable[P, Reply]:
        name = step.__name__
        DECLARED[name] = frozenset(words)

        UNREADABLE[name] = unreadable

        @wraps(step)
        def asked(*args: P.args, **kwargs: P.kwargs) -> Reply:
            reply = unread(step, *args[:2]) or step(*args, **kwargs)
            if reply.answer not in words:
                raise AssertionError(f"{name} answers {reply.answer}, which its header does not")
            GIVEN[name].add(reply.answer)
            return reply

        return asked

    return held


def unread(step: Callable[..., Reply], shard: object, rules: object) -> Reply | None:
    """Return the answer of a script whose record was overwritten."""
    word = UNREADABLE[step.__name__]
    if not word or not isinstance(shard, Shard) or not isinstance(rules, Rules):
        return None
    is_known = shard.is_overwritten and rules.what_is_no_record_is_not_missing
    return Reply(word, shard) if is_known and not shard.is_cold else None
