"""Watchers: each stands around one call of a port, and counts by what is asked and answered."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from taskmill.core.ports import Counters

Call: TypeAlias = Callable[..., Any]
Watcher: TypeAlias = Callable[[Call, Counters], Call]
Watchers: TypeAlias = Mapping[str, Watcher]
"""The watched calls of a port, by the name of the call."""

W = TypeVar("W", str, tuple[str, str])


def by_answer(count: Callable[[Counters, Any, Any], object]) -> Watcher:
    """Make a watcher that counts what a call was asked, its first argument, and its answer."""

    def watcher(call: Call, counters: Counters) -> Call:
        def watched(*asked: Any, **named: Any) -> Any:
            answer = call(*asked, **named)
            count(counters, asked[0] if asked else None, answer)
            return answer

        return watched

    return watcher


def tally(words: Iterable[W]) -> Iterable[tuple[W, int]]:
    return Counter(words).items()
