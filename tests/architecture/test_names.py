"""Keys and topics are each spelled in one module only."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [path for folder in ("shared", "functions") for path in (ROOT / folder).rglob("*.py")]
SCRIPTS = sorted((ROOT / "shared").rglob("*.lua"))
TOPIC = re.compile(r"tasks\.(inbox|pending|events|dlq|worker)")
KEY = re.compile(r"\btm:")


def words_of(path):
    """Return the strings of a source, except docstrings."""
    tree = ast.parse(path.read_text())
    explaining = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in explaining
    ]


def spellers(pattern):
    return {
        str(path.relative_to(ROOT))
        for path in SOURCES
        if any(pattern.search(word) for word in words_of(path))
    }


def test_every_key_is_spelled_in_one_place():
    assert spellers(KEY) == {"shared/taskmill/stores/redis/keys.py"}


def test_every_topic_is_spelled_in_one_place():
    assert spellers(TOPIC) == {"shared/taskmill/core/topics.py"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_no_script_spells_a_key(script):
    assert not KEY.search(script.read_text())
