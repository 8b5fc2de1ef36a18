"""One run of a model: what it contains, and the expected verdict."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from tests.models.checker import Model, Verdict, explore
from tests.models.rules import Rules

MOST_STATES = 3_000_000

Make: TypeAlias = Callable[[Rules], Model[Any]]


class Case(NamedTuple):
    """A model under some faults; with a rule removed it is a broken twin."""

    name: str
    make: Make
    without: str = ""
    expected: str | None = None
    """The complaint that must be found; None when the case must be clean."""
    is_deep: bool = False
    """Too long for every run of the tests."""

    def __str__(self) -> str:
        return f"{self.name}, without {self.without}" if self.without else self.name

    def build(self) -> Model[Any]:
        return self.make(Rules(**{self.without: False}) if self.without else Rules())


@cache
def verdict_of(case: Case) -> Verdict:
    """Explore a case once, however many tests use it."""
    return explore(case.build(), most=MOST_STATES)


def told(model: str, what: Mapping[str, object]) -> str:
    """Name a case by its model and by what it allows."""
    return f"{model}: " + ", ".join(f"{name} {value}" for name, value in what.items())
