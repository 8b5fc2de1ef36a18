"""The figures of the code with their limits."""

from collections.abc import Iterator, Mapping, Sequence

from tests.house import limits
from tests.house.folders import median, sizes
from tests.house.names import GLOSSARY, LAYER, defined_twice, public_classes, without_a_row
from tests.house.way import walk


def report() -> Iterator[str]:
    """Yield a line for each figure, and one for each name or folder that misses its target."""
    yield from _of_the_way()
    yield from _of_folders(sizes())
    yield from _of_names(defined_twice(public_classes(LAYER)))
    yield from _of_the_glossary(
        without_a_row(public_classes(LAYER / "core"), GLOSSARY.read_text(encoding="utf-8"))
    )


def _of_the_way() -> Iterator[str]:
    way = walk()
    yield "the way of one task, from POST /v1/tasks to GET /v1/tasks/{id}, over stores in memory:"
    yield limits.FILES.line(len(way.files))
    yield f"functions that it passes: {len(way.functions)}"
    yield limits.JUMPS.line(way.jumps)


def _of_folders(folders: Mapping[str, int]) -> Iterator[str]:
    yield f"source files in a folder, median: {median(folders):g}"
    yield limits.FILES_IN_A_FOLDER.line(max(folders.values()))
    target = limits.FILES_IN_A_FOLDER.target
    yield from (f"  {name}: {size}" for name, size in sorted(folders.items()) if size > target)


def _of_names(twice: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield limits.DEFINED_TWICE.line(len(twice))
    yield from (f"  {name}: {', '.join(where)}" for name, where in twice.items())


def _of_the_glossary(missing: Sequence[str]) -> Iterator[str]:
    yield limits.WITHOUT_A_ROW.line(len(missing))
    yield from (f"  {name}" for name in missing)
