"""Declares the answers of a step function, and remembers which of them were ever given."""

from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from tests.models.shard import Reply

P = ParamSpec("P")

DECLARED: dict[str, frozenset[str]] = {}
GIVEN: dict[str, set[str]] = defaultdict(set)


def answers(*words: str) -> Callable[[Callable[P, Reply]], Callable[P, Reply]]:
    """Hold a step function to the answers that its script's header names."""

    def held(step: Callable[P, Reply]) -> Callable[P, Reply]:
        name = step.__name__
        DECLARED[name] = frozenset(words)

        @wraps(step)
        def asked(*args: P.args, **kwargs: P.kwargs) -> Reply:
            reply = step(*args, **kwargs)
            if reply.answer not in words:
                raise AssertionError(f"{name} answers {reply.answer}, which its header does not")
            GIVEN[name].add(reply.answer)
            return reply

        return asked

    return held
