"""Declares the answers of step functions, and records which of them occurred."""

from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, Protocol, TypeVar, cast

from tests.models.rules import Rules
from tests.models.shard import Reply, Shard

P = ParamSpec("P")


class Answer(Protocol):
    """What a step returns: the reply of a shard, or of a lane."""

    @property
    def answer(self) -> str: ...


R = TypeVar("R", bound=Answer)


class Steps:
    """The step functions of one folder, by their names."""

    def __init__(self) -> None:
        self.declared: dict[str, frozenset[str]] = {}
        self.given: dict[str, set[str]] = defaultdict(set)

    def answers(
        self, *words: str, unreadable: str = ""
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Restrict a step function to the answers that its script's header names.

        When the record was overwritten, the script fails before it changes anything, and its
        caller gets *unreadable*; if that is empty, it continues.
        """

        def held(step: Callable[P, R]) -> Callable[P, R]:
            name = step.__name__
            self.declared[name] = frozenset(words)

            @wraps(step)
            def asked(*args: P.args, **kwargs: P.kwargs) -> R:
                failed = unread(asked, *args[:2])
                reply = step(*args, **kwargs) if failed is None else cast("R", failed)
                if reply.answer not in words:
                    wrong = f"{name} answers {reply.answer}, which its header does not"
                    raise AssertionError(wrong)
                self.given[name].add(reply.answer)
                return reply

            _UNREADABLE[asked] = unreadable
            return asked

        return held


_UNREADABLE: dict[Callable[..., object], str] = {}
"""What each step answers instead when the record was overwritten; empty: it continues."""


def unread(step: Callable[..., object], shard: object, rules: object) -> Reply | None:
    """Return the answer of a script whose record was overwritten."""
    word = _UNREADABLE[step]
    if not word or not isinstance(shard, Shard) or not isinstance(rules, Rules):
        return None
    is_known = shard.is_overwritten and rules.what_is_no_record_is_not_missing
    return Reply(word, shard) if is_known and not shard.is_cold else None


_STEPS = Steps()
DECLARED = _STEPS.declared
GIVEN = _STEPS.given
answers = _STEPS.answers
