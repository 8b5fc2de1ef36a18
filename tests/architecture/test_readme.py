"""The README tells what the code does."""

import re
import socket
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace
from mypy import api

from taskmill.core.facts import TaskDeferred, TaskSucceeded
from taskmill.core.lifecycle import TRANSITIONS
from taskmill.core.task import FINAL, Status, TaskId
from tests.builders import an_envelope
from tests.unit.stage import NOW, Stage

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def diagram() -> str:
    ways: dict[tuple[Status, Status], list[str]] = {}
    for (start, kind), end in TRANSITIONS.items():
        if start is not end:
            ways.setdefault((start, end), []).append(kind.__name__)
    lines = ["stateDiagram-v2", f"    [*] --> {Status.QUEUED}", f"    [*] --> {Status.SCHEDULED}"]
    lines += [f"    {start} --> {end}: {', '.join(kinds)}" for (start, end), kinds in ways.items()]
    lines += [f"    {status} --> [*]" for status in Status if status in FINAL]
    return "\n".join(lines)


def test_the_diagram_of_a_tasks_life_is_the_table_of_transitions():
    shown = re.search(r"<!-- lifecycle -->\n```mermaid\n(.*?)\n```", README, re.DOTALL)
    assert shown is not None
    assert shown[1] == diagram()


def test_every_file_that_the_readme_names_exists():
    named = re.findall(r"`((?:tests|infra|functions|shared|events|localstack)/[\w./]+)`", README)
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_two_commands_are_the_first_that_the_readme_names():
    first_block = re.search(r"```\n(.*?)```", README, re.DOTALL)
    assert first_block is not None
    assert re.findall(r"^make \w+", first_block[1], re.MULTILINE) == ["make demo", "make test"]


EXAMPLES: list[str] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def a_worker(sentence: str) -> Any:
    """Return the worker of the example whose first line is this sentence."""
    return the_example(sentence)["lambda_handler"]


def the_example(sentence: str) -> dict[str, Any]:
    (source,) = [source for source in EXAMPLES if source.startswith(f'"""{sentence}"""')]
    module = ModuleType("example")
    exec(source, module.__dict__)  # noqa: S102 - it is our own README
    return module.__dict__


def ends(worker: Any, monkeypatch: pytest.MonkeyPatch, *payloads: Any) -> list[Any]:
    """Return how tasks with these payloads end, or why and until when they wait."""
    stage = Stage()
    stage.bind(monkeypatch)
    for number, payload in enumerate(payloads):
        task_id = TaskId(f"019f0000-0000-7000-8000-{number:012d}")
        task = an_envelope(id=task_id, generation=NOW, created_at_ms=NOW, payload=Raw(payload))
        stage.log.send_work([replace(task, retry=worker.defaults.retry)])
    stage.log.flush()
    assert stage.run(worker, "tasks.worker.echo") == {"batchItemFailures": []}
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
    waits = a_worker(
        "Waits for a page without a thread of its own; a hundred of them share one event loop."
    )
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
    for number, source in enumerate(EXAMPLES):
        (tmp_path / f"example_{number}.py").write_text(source)
    told, errors, code = api.run([str(path) for path in tmp_path.iterdir()])
    assert (errors, code) == ("", 0), told


def test_every_word_that_names_a_concept_of_the_core_is_in_the_glossary():
    words = set(re.findall(r"^\| ([a-z ]+) \|", README, re.MULTILINE))
    concepts = {"task", "envelope", "parcel", "fact", "lease", "outcome", "record", "ledger"}
    assert concepts <= words
