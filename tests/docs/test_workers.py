"""The documented examples of workers and their tests work as described."""

import socket
from threading import Thread
from types import ModuleType
from typing import Any

import pytest
from msgspec import Raw
from mypy import api

from taskmill.core.facts import TaskDeferred, TaskSucceeded
from taskmill.core.task import TaskId
from tests.builders import an_envelope
from tests.docs.pages import ROOT, blocks_of
from tests.unit.stage import NOW, Stage

SOURCES = [one.text for one in blocks_of("python")]
WAITS = "Waits for a page without a thread of its own; a hundred of them share one event loop."
EXAMPLES = [one.text for one in blocks_of("python") if not one.mark]


def a_worker(sentence: str) -> Any:
    """Return the worker of the example whose first line is this sentence."""
    return the_example(sentence)["lambda_handler"]


def the_example(sentence: str) -> dict[str, Any]:
    (source,) = [source for source in EXAMPLES if source.startswith(f'"""{sentence}"""')]
    module = ModuleType("example")
    exec(source, module.__dict__)  # noqa: S102 - it is our own page
    return module.__dict__


def ends(worker: Any, monkeypatch: pytest.MonkeyPatch, *payloads: Any) -> list[Any]:
    """Return how tasks with these payloads end, or why and until when they wait."""
    stage = Stage()
    stage.bind(monkeypatch)
    tasks = [
        an_envelope(
            id=TaskId(f"019f0000-0000-7000-8000-{number:012d}"),
            generation=NOW,
            created_at_ms=NOW,
            payload=Raw(payload),
            retry=worker.defaults.retry,
        )
        for number, payload in enumerate(payloads)
    ]
    assert stage.deliver(worker, *tasks) == {"batchItemFailures": []}
    return [_end(fact) for fact in stage.log.facts()]


def _end(fact: Any) -> Any:
    match fact:
        case TaskSucceeded():
            return bytes(fact.result)
        case TaskDeferred():
            return fact.reason, fact.error_message, (fact.due_at_ms - NOW) / 1000
        case _:
            return fact.reason, fact.error_message


def test_the_example_of_a_worker_runs(monkeypatch):
    greets = a_worker("Greets.")
    assert ends(greets, monkeypatch, b'{"name":"Ada"}', b'{"name":""}') == [
        b'"hello Ada"',
        ("discarded", "nobody to greet"),
    ]


def test_the_example_of_the_readme_runs(monkeypatch):
    greets = a_worker("Greets a person by name.")
    assert ends(greets, monkeypatch, b'{"name":"Ada"}') == [b'"hello Ada"']


def test_every_example_is_run():
    """Those that another test runs say so."""
    assert {source.partition("\n")[0] for source in EXAMPLES} == {
        '"""Greets."""',
        '"""Greets a person by name."""',
        '"""Charges a card: once, whatever happens."""',
        f'"""{WAITS}"""',
        '"""Tests a worker that gives a busy line three tries."""',
    }


def test_the_example_with_every_answer_runs(monkeypatch):
    charges = a_worker("Charges a card: once, whatever happens.")
    assert ends(
        charges,
        monkeypatch,
        b'{"card":"1","cents":5}',
        b'{"card":"1","cents":0}',
        b'{"card":"1","cents":5,"is_open":false}',
        b'{"card":"busy","cents":5}',
        b'{"card":"unknown","cents":5}',
    ) == [
        b'{"receipt":"receipt of 019f0000-0000-7000-8000-000000000000-1794000000000"}',
        ("discarded", "nothing to charge"),
        ("snoozed", "the shop is closed", 900),
        ("failed", "the bank is busy", 30),
        ("discarded", "unknown"),
    ]
    assert charges.defaults.max_attempts == 10


def test_the_example_of_an_async_worker_runs(monkeypatch):
    waits = a_worker(WAITS)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server_port = server.getsockname()[1]
        Thread(target=_answer_once, args=(server,), daemon=True).start()
        (end,) = ends(waits, monkeypatch, b'{"host":"127.0.0.1","port":%d}' % server_port)
    assert end == b'"HTTP/1.0 204 No Content"'
    (end,) = ends(waits, monkeypatch, b'{"host":"127.0.0.1","port":%d}' % server_port)
    assert end[0] == "failed"


def test_the_example_of_tests_passes():
    tests = the_example("Tests a worker that gives a busy line three tries.")
    ran = [one() for name, one in tests.items() if name.startswith("test_")]
    assert len(ran) == 2


def _answer_once(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(1000)
        connection.sendall(b"HTTP/1.0 204 No Content\r\n\r\n")


def test_the_type_checker_likes_the_examples(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    for number, source in enumerate(SOURCES):
        (tmp_path / f"example_{number}.py").write_text(source)
    answer, errors, code = api.run([str(path) for path in tmp_path.iterdir()])
    assert (errors, code) == ("", 0), answer
