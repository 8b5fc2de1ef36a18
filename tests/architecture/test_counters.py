"""Every metric matches the table of metrics, including its labels."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from functions.gateway.submitting import ANSWERS
from functions.scheduler.jobs import JOBS
from infra.check_template import expanded
from infra.rules.alarms import ALARM
from taskmill.core.counting import TABLE, Count, Counted, Gauge, Span
from taskmill.dispatch.waiting import Delayed
from taskmill.execution.lease import ClaimAnswer, SettleAnswer
from taskmill.orders.control import OrderAnswer
from taskmill.recovery.divergence import Divergence
from taskmill.stores.counted.orders import ORDERS
from taskmill.stores.counted.tasks import CLAIMS, SETTLEMENTS, VERDICTS
from taskmill.submission.admission import Verdict
from taskmill.submission.submission import Receipt

ROOT = Path(__file__).parents[2]
NAMES: dict[str, Counted] = {one.name: one for kind in (Count, Span, Gauge) for one in kind}


def counting() -> Iterator[tuple[str, Counted, set[str | None]]]:
    """Yield each call that counts or times: its place, its measure, its labels."""
    for path in [*(ROOT / "shared").rglob("*.py"), *(ROOT / "functions").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(
                    args=[ast.Attribute(value=ast.Name(id="Count" | "Span" | "Gauge")) as what, *_]
                ):
                    labels = {keyword.arg for keyword in node.keywords} - {"by"}
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", NAMES[what.attr], labels


def test_every_call_names_the_labels_of_its_measure():
    assert not [at for at, what, labels in counting() if labels != set(TABLE[what].labels)]


def test_everything_in_the_table_is_counted_somewhere():
    assert {what for _, what, _ in counting()} == set(TABLE) == set(NAMES.values())


@pytest.mark.parametrize(
    ("answer", "answers"),
    [
        (VERDICTS, Verdict),
        (CLAIMS, ClaimAnswer),
        (SETTLEMENTS, SettleAnswer),
        (ORDERS, OrderAnswer),
        (ANSWERS, Receipt),
    ],
)
def test_every_answer_has_its_word(answer, answers):
    assert set(answer) == set(get_args(answers))


def test_every_word_of_an_answer_is_in_the_table():
    assert set(VERDICTS.values()) <= words(Count.DEFERRED, "answer")
    assert set(CLAIMS.values()) <= words(Count.CLAIMS, "answer")
    assert set(SETTLEMENTS.values()) <= words(Count.SETTLEMENTS, "answer")
    assert set(ANSWERS.values()) <= words(Count.SUBMISSIONS, "answer")
    assert set(Delayed) == words(Count.DELAYED, "answer")
    assert set(ORDERS.values()) == words(Count.CHANGES, "answer")


def test_every_disagreement_has_its_word():
    assert set(Divergence) == words(Count.RECONCILED, "kind")


def words(what: Counted, label: str) -> frozenset[str]:
    return TABLE[what].labels[label] or frozenset()


def test_every_chore_has_its_word():
    assert {job.name for job in JOBS} == words(Count.CHORES, "chore")


def test_names_are_prometheus_names():
    for what, measure in TABLE.items():
        assert what.endswith("_total") is isinstance(what, Count), what
        assert what.endswith("_seconds") or not isinstance(what, Span), what
        assert what.startswith("taskmill_")
        assert not measure.about.endswith(".")


def test_each_alarm_on_a_count_finds_its_sum_over_all_labels():
    """CloudWatch has a sum without labels only if the line declares it."""
    whole = {alarm["MetricName"] for alarm in alarms() if not alarm.get("Dimensions")}
    assert whole == {str(what) for what, measure in TABLE.items() if measure.calls_for_help}


def test_each_alarm_on_a_part_of_a_count_names_labels_and_words_of_the_table():
    parts = [alarm for alarm in alarms() if alarm.get("Dimensions")]
    assert parts
    for alarm in parts:
        known = TABLE[Count(alarm["MetricName"])].labels
        said = {one["Name"]: one["Value"] for one in alarm["Dimensions"]}
        assert said.keys() == known.keys()
        assert all(word in (known[label] or ()) for label, word in said.items())


def alarms() -> list[Mapping[str, Any]]:
    """Return the alarms on our own metrics."""
    every = [alarm for _, alarm in expanded().of(ALARM)]
    return [alarm for alarm in every if str(alarm.get("MetricName")).startswith("taskmill_")]
