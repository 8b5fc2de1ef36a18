"""A run reports unacknowledged requests to the checker."""

from tests.faults.checker import check
from tests.faults.history import Outcome, Submit
from tests.faults.run import Run

ID = "01a1b2c3-0000-7000-8000-000000000001"


class Stack:
    """A stack on which one unacknowledged task ran."""

    def __init__(self):
        self.label = ""

    def ask(self, query, *asked):
        if "FROM facts" in query:
            ended = (ID, "TaskSucceeded", 1, 1, 20, 5, 1, 0, 10, None, None)
            return [ended] if ID in asked[0] else []
        if "FROM receipts" in query:
            return []
        return [(ID, self.label, "succeeded", 1, 1, 1, 0, 4, None, 20)]

    def left(self, labels):
        line = {"kind": "effect", "label": self.label, "generation": 1, "token": "t"}
        return [line] if self.label in labels else []

    def records(self, ids):
        return [None] * len(ids)


def test_a_submission_of_unknown_outcome_may_have_had_its_effect():
    run = Run(Stack())
    run.stack.label = run.label(1)
    run.submits = [Submit(label=run.label(1), body="", key=run.label(1), outcome=Outcome.UNKNOWN)]
    history = run.history()
    assert [effect.label for effect in history.effects] == [run.label(1)]
    assert [fact.id for fact in history.facts] == [ID]
    assert check(history) == []
