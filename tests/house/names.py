"""Public class names: those defined twice, and those missing in the glossary."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
LAYER: Final = ROOT / "shared" / "taskmill"
GLOSSARY: Final = ROOT / "docs" / "concepts" / "glossary.md"
_ROW = re.compile(r"^\| (?!word \||-)(.+?) \|", re.MULTILINE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def public_classes(folder: Path) -> Mapping[str, Sequence[str]]:
    """Return where each public class name of *folder* is defined at the top of a module."""
    places = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        for name in _classes_of(path.read_text(encoding="utf-8")):
            places[name].append(str(path.relative_to(ROOT)))
    return places


def defined_twice(places: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def without_a_row(places: Mapping[str, Sequence[str]], glossary: str) -> Sequence[str]:
    """Return the classes that the *glossary* lacks, both in backticks and in plain words."""
    words = {word for row in _ROW.findall(glossary) for word in _words_of_row(row)}
    return sorted(name for name in places if name not in words and words_of(name) not in words)


def words_of(name: str) -> str:
    """Return "redrive job" for RedriveJob."""
    return _HUMP.sub(" ", name).lower()


def _words_of_row(row: str) -> Iterator[str]:
    yield from re.findall(r"`(\w+)`", row)
    yield from (word.strip().lower() for word in row.split(","))


def _classes_of(source: str) -> Iterator[str]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
