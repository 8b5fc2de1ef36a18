"""The README tells what the code does."""

import re
from pathlib import Path

from taskmill.domain.lifecycle import TRANSITIONS
from taskmill.domain.task import FINAL, Status

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


def test_the_example_of_a_worker_runs():
    shown = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    module: dict[str, object] = {"__name__": "example"}
    exec(shown[1], module)  # noqa: S102 - it is our own README
    worker = module["lambda_handler"]
    assert worker.perform(module["Greeting"]("Ada")) == "hello Ada"


def test_every_word_that_names_a_concept_of_the_core_is_in_the_glossary():
    words = set(re.findall(r"^\| ([a-z ]+) \|", README, re.MULTILINE))
    concepts = {"task", "envelope", "parcel", "fact", "lease", "outcome", "record", "ledger"}
    assert concepts <= words
