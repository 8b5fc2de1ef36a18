"""Loads the statements: one per file in `sql/<subject>/`."""

from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).with_name("sql")


def load(name: str) -> bytes:
    """Return the statement in ``sql/<subject>/<verb_noun>.sql``, named ``subject/verb_noun``."""
    return (_FOLDER / f"{name}.sql").read_bytes()
