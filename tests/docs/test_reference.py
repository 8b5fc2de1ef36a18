"""The reference pages cover everything in the code."""

import re

from functions.gateway.description.every import OPERATIONS
from functions.gateway.description.problems import PROBLEMS
from infra.assembly import outputs
from infra.reference import settings
from infra.reference.lifecycle import PAGE, diagram
from taskmill.core.counting import TABLE
from taskmill.settings.known import known
from tests.docs.pages import ROOT, anchors

REFERENCE = ROOT / "docs/reference"
GLOSSARY = ROOT / "docs/concepts/glossary.md"


def test_the_pages_are_what_the_code_says():
    written = {path: text for path, text in outputs().items() if path.suffix == ".md"}
    stale = [path.name for path, text in written.items() if path.read_text() != text]
    assert stale == [], "run `make template`"
    assert {path for path in written if path.parent == REFERENCE} == set(REFERENCE.glob("*.md"))


def test_the_diagram_of_a_tasks_life_is_the_table_of_transitions():
    shown = re.search(
        r"<!-- lifecycle -->\n```mermaid\n(.*?)\n```", (ROOT / PAGE).read_text(), re.DOTALL
    )
    assert shown is not None
    assert shown[1] == diagram()


def test_every_variable_that_is_known_is_described_and_no_other():
    assert settings.names() == known()


def test_everything_that_is_counted_is_listed():
    listed = re.findall(
        r"^\| `(taskmill_\w+)` \|", (REFERENCE / "metrics.md").read_text(), re.MULTILINE
    )
    assert set(map(str, TABLE)) == set(listed)


def test_every_refusal_and_every_route_has_a_section():
    assert set(PROBLEMS) <= anchors(REFERENCE / "errors.md")
    text = (REFERENCE / "http.md").read_text()
    assert [one.route for one in OPERATIONS if f"\n### {one.route}\n" not in text] == []


def test_each_word_has_one_meaning():
    words = re.findall(r"^\| ([^|]+) \| (?!meaning)", GLOSSARY.read_text(), re.MULTILINE)
    words = [word for word in words if word != "---"]
    assert sorted({word for word in words if words.count(word) > 1}) == []


def test_every_word_that_names_a_concept_of_the_core_is_in_the_glossary():
    words = set(re.findall(r"^\| ([a-z ]+) \|", GLOSSARY.read_text(), re.MULTILINE))
    concepts = {"task", "envelope", "fact", "lease", "outcome", "record", "ledger", "turn"}
    assert concepts <= words
