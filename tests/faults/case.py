"""A history with ways to query it."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from taskmill.core.facts import (
    AttemptLost,
    Fact,
    TaskAdmitted,
    TaskCancelled,
    TaskChanged,
    TaskDeferred,
    TaskDied,
    TaskStarted,
    TaskSucceeded,
)
from taskmill.core.lifecycle import RANKS
from tests.faults.history import History, Outcome, Submit, TaskVersion, Told

KINDS: Mapping[str, type[Fact]] = {
    kind.__name__: kind
    for kind in (
        TaskAdmitted,
        TaskChanged,
        AttemptLost,
        TaskStarted,
        TaskDeferred,
        TaskSucceeded,
        TaskDied,
        TaskCancelled,
    )
}


@dataclass(frozen=True)
class Case:
    history: History

    @cached_property
    def rows(self) -> dict[str, TaskVersion]:
        return {row.id: row for row in self.history.rows}

    @cached_property
    def submits(self) -> dict[str, list[Submit]]:
        by_label: dict[str, list[Submit]] = defaultdict(list)
        for submit in self.history.submits:
            by_label[submit.label].append(submit)
        return by_label

    @cached_property
    def told(self) -> dict[str, dict[int, list[Told]]]:
        """The facts of each task by generation, in the order of its life."""
        by_task: dict[str, dict[int, list[Told]]] = defaultdict(lambda: defaultdict(list))
        for fact in self.history.facts:
            if fact.kind in KINDS:
                by_task[fact.id][fact.generation].append(fact)
        for generations in by_task.values():
            for facts in generations.values():
                facts.sort(key=_order)
        return by_task

    @cached_property
    def redriven(self) -> Counter[str]:
        tries = (one for one in self.history.redrives if one.outcome is not Outcome.FAIL)
        return Counter(one.id for one in tries)


def _order(fact: Told) -> tuple[int, int, int]:
    return fact.turn, RANKS[KINDS[fact.kind]], fact.token
