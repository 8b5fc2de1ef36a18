"""The meaning of each form of response to a batch."""

import json

import pytest

from taskmill_local.lambdas.answer import Failed, Failure, Responded
from taskmill_local.mappings.event import Record
from taskmill_local.mappings.verdict import Verdict, verdict_on

BATCH = {
    "tasks-0": [Record(0, offset, b"{}") for offset in (3, 4, 7)],
    "tasks-1": [Record(1, offset, b"{}") for offset in (0, 1)],
}
ALL_AGAIN = {"tasks-0": 3, "tasks-1": 0}


def entry(partition, offset):
    return {"itemIdentifier": {"partition": partition, "offset": offset}}


def answered(response):
    return verdict_on(BATCH, Responded(json.dumps(response).encode()))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"{}",
        b'{"batchItemFailures": []}',
        b'{"batchItemFailures": null}',
        b'{"statusCode": 200}',
    ],
)
def test_an_answer_without_failures_means_all_is_done(body):
    assert verdict_on(BATCH, Responded(body)) == Verdict()


def test_each_partition_comes_again_from_its_lowest_failed_offset():
    verdict = answered({"batchItemFailures": [entry("tasks-0", 7), entry("tasks-0", 4)]})
    assert verdict.again_from == {"tasks-0": 4}
    verdict = answered({"batchItemFailures": [entry("tasks-1", 1), entry("tasks-0", 3)]})
    assert verdict.again_from == {"tasks-0": 3, "tasks-1": 1}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b'"done"', "not an object"),
        (b"[]", "not an object"),
        (b"0", "not an object"),
    ],
)
def test_what_is_no_object_fails_the_whole_batch(body, reason):
    verdict = verdict_on(BATCH, Responded(body))
    assert verdict.again_from == ALL_AGAIN
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("failures", "reason"),
    [
        ({}, "not a list"),
        (False, "not a list"),
        ("tasks-0", "not a list"),
        ([3], "an entry of batchItemFailures"),
        ([{}], "an entry of batchItemFailures"),
        ([{"itemIdentifier": "tasks-0-3"}], "an entry of batchItemFailures"),
        ([{"itemIdentifier": None}], "an entry of batchItemFailures"),
        ([{"itemIdentifier": {"partition": "tasks-0"}}], "an entry of batchItemFailures"),
        ([{"itemIdentifier": {"offset": 3}}], "an entry of batchItemFailures"),
        ([entry("tasks-1", offset=True)], "an entry of batchItemFailures"),
        ([entry("tasks-0", "3")], "an entry of batchItemFailures"),
        ([entry("tasks-0", 3.0)], "an entry of batchItemFailures"),
        ([entry(0, 3)], "an entry of batchItemFailures"),
        ([entry("tasks-0", 3), {}], "an entry of batchItemFailures"),
        ([entry("tasks-0", 5)], "tasks-0 offset 5: not in the batch"),
        ([entry("tasks-2", 3)], "tasks-2 offset 3: not in the batch"),
        ([entry("tasks-0", 3), entry("tasks-1", 7)], "tasks-1 offset 7: not in the batch"),
    ],
)
def test_a_malformed_list_of_failures_fails_the_whole_batch(failures, reason):
    verdict = answered({"batchItemFailures": failures})
    assert verdict.again_from == ALL_AGAIN
    assert reason in verdict.reason


@pytest.mark.parametrize("failure", Failure)
def test_a_failed_invocation_fails_the_whole_batch(failure):
    body = json.dumps({"errorType": "KeyError", "errorMessage": "'id'"}).encode()
    assert verdict_on(BATCH, Failed(failure, body)) == Verdict(
        again_from=ALL_AGAIN, reason=f"{failure.value}: KeyError: 'id'"
    )


@pytest.mark.parametrize("body", [b"", b"oops", b"[]", b"null"])
def test_a_failure_without_words_is_still_told(body):
    verdict = verdict_on(BATCH, Failed(Failure.EXIT, body))
    assert verdict.reason == "exit: the function gave no reason"
