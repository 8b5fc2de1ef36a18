"""The log lines from which CloudWatch makes metrics."""

import json

import pytest

from taskmill.core.counting import Count, Span
from taskmill.platform.emf import EmfCounters

AT = 1_800_000_000_000


@pytest.fixture
def lines():
    return []


@pytest.fixture
def counters(lines):
    return EmfCounters(namespace="here", types={"echo"}, clock=lambda: AT, write=lines.append)


def test_nothing_is_written_when_nothing_was_counted(counters, lines):
    counters.count(Count.FORGOTTEN, 0)
    counters.flush()
    assert lines == []


def test_what_an_invocation_counts_stands_in_one_line(counters, lines):
    counters.count(Count.CLAIMS, 2, type="echo", answer="claimed")
    counters.count(Count.TAKEN, type="echo")
    counters.time(Span.PUBLISH, 0.25)
    counters.flush()
    counters.flush()
    assert [json.loads(line) for line in lines] == [
        {
            "_aws": {
                "Timestamp": AT,
                "CloudWatchMetrics": [
                    a_directive("taskmill_claims_total", ["type", "answer"]),
                    a_directive("taskmill_taken_total", ["type"]),
                    a_directive("taskmill_publish_seconds", [], unit="Seconds"),
                ],
            },
            "type": "echo",
            "answer": "claimed",
            "taskmill_claims_total": 2,
            "taskmill_taken_total": 1,
            "taskmill_publish_seconds": [0.25],
        }
    ]


def a_directive(name, labels, *, unit="Count", more=()):
    return {
        "Namespace": "here",
        "Dimensions": [labels, *more],
        "Metrics": [{"Name": name, "Unit": unit}],
    }


def test_a_line_says_one_value_for_a_label(counters, lines):
    counters.count(Count.CLAIMS, type="echo", answer="claimed")
    counters.count(Count.CLAIMS, type="echo", answer="held")
    counters.count(Count.SETTLEMENTS, answer="settled")
    counters.flush()
    assert [json.loads(line)["answer"] for line in lines] == ["claimed", "held", "settled"]


def test_what_wakes_somebody_is_told_without_labels_too(counters, lines):
    counters.count(Count.DEAD, type="echo", reason="poison")
    counters.flush()
    (directive,) = json.loads(lines[0])["_aws"]["CloudWatchMetrics"]
    assert directive == a_directive("taskmill_dead_total", ["type", "reason"], more=[[]])


def test_a_line_holds_as_many_values_as_cloudwatch_takes(counters, lines):
    for _ in range(201):
        counters.time(Span.PUBLISH, 0.1)
    counters.flush()
    assert [len(json.loads(line)["taskmill_publish_seconds"]) for line in lines] == [100, 100, 1]


def test_a_line_is_printed_as_lambda_expects_it(capsys):
    counters = EmfCounters(namespace="here", types=(), clock=lambda: AT)
    counters.count(Count.FORGOTTEN, 3)
    counters.flush()
    assert capsys.readouterr().out.startswith('{"_aws":')
