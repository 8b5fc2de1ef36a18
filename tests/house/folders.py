"""Number of source files in each folder of the product."""

import statistics
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PRODUCT: Final = ("shared", "functions", "localstack", "infra", "bench")
SOURCES: Final = frozenset({".py", ".lua", ".sql", ".yaml", ".json", ".sh"})


def sizes() -> Mapping[str, int]:
    """Return the number of source files per folder; SQL subjects and tests do not count."""
    return Counter(
        str(path.parent.relative_to(ROOT))
        for top in PRODUCT
        for path in (ROOT / top).rglob("*")
        if path.suffix in SOURCES and _counts(path)
    )


def median(folders: Mapping[str, int]) -> float:
    return statistics.median(folders.values())


def _counts(path: Path) -> bool:
    return not {"sql", "migrations", "__pycache__"} & set(path.parts)
