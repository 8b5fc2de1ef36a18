"""An exception's class, message and place are kept."""

import logging

import pytest

from taskmill.core.text import STACK_LIMIT
from taskmill.worker import serve
from tests.unit.stage import Stage
from tests.unit.worker.letters import Letter, a_task, work


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def the_fact(stage, perform, **task):
    work(stage, serve(Letter, perform), a_task(stage, **task))
    (fact,) = stage.log.facts()
    return fact


def looks_up(letter):
    secret = f"password={letter.to}"
    try:
        return {}[secret]
    except KeyError as error:
        raise LookupError(f"no entry for {secret}") from error


async def looks_up_later(letter):
    return looks_up(letter)


@pytest.mark.parametrize("perform", [looks_up, looks_up_later], ids=["sync", "async"])
def test_a_stack_has_the_frames_of_the_worker_and_its_causes_without_values(stage, perform):
    stack = the_fact(stage, perform, payload={"to": "hunter2"}).stack
    assert "hunter2" not in stack
    assert "taskmill/worker.py" not in stack
    assert "in looks_up" in stack
    assert 'raise LookupError(f"no entry for' in stack
    assert stack.startswith("Traceback (most recent call last):\n")
    assert "KeyError: 'password=***" in stack
    assert "direct cause of the following exception" in stack
    assert stack.endswith("LookupError: no entry for password=***")


def test_a_retried_attempt_keeps_its_stack_too(stage):
    fact = the_fact(stage, looks_up, max_attempts=2)
    assert (type(fact).__name__, fact.reason) == ("TaskDeferred", "failed")
    assert "in looks_up" in fact.stack


def test_a_stack_keeps_the_end_that_is_nearest_to_the_mistake(stage):
    def falls(depth):
        if depth == 0:
            raise ValueError("é" * 100_000)
        return rises(depth - 1)

    def rises(depth):
        return falls(depth)

    stack = the_fact(stage, lambda _letter: falls(100)).stack
    assert len(stack.encode()) <= STACK_LIMIT
    assert "in falls" in stack
    assert "ValueError: é" in stack


@pytest.mark.parametrize(
    ("error", "error_class", "message"),
    [(SystemExit(3), "SystemExit", "3"), (ValueError, "ValueError", "")],
)
def test_class_and_message_stand_apart(stage, error, error_class, message):
    def perform(_letter):
        raise error

    fact = the_fact(stage, perform)
    assert (fact.error_class, fact.error_message) == (error_class, message)
    assert fact.stack.splitlines()[-1] == f"{error_class}: {message}".removesuffix(": ")


def test_an_error_that_cannot_be_printed_has_its_class(stage):
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError

        @property
        def __notes__(self):
            raise RuntimeError

    def perform(_letter):
        raise Broken

    assert the_fact(stage, perform).error_class == "Broken"


def test_a_stack_is_logged_as_an_error(stage, caplog):
    with caplog.at_level(logging.INFO, logger="taskmill"):
        fact = the_fact(stage, looks_up)
    (line,) = [one for one in caplog.records if one.message == "task died"]
    assert (line.levelno, line.stack) == (logging.ERROR, fact.stack)
    assert line.error_message == "no entry for password=***"
