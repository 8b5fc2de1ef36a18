"""Loads the statements: one per file in `sql/<subject>/`."""

from importlib import resources


def load(name: str) -> bytes:
    """Return the statement in ``sql/<subject>/<verb_noun>.sql``, named ``subject/verb_noun``."""
    return resources.files(__package__).joinpath("sql", f"{name}.sql").read_bytes()
