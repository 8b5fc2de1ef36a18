"""Loads the statements: one per file in `sql/`."""

from importlib import resources


def load(name: str) -> bytes:
    """Return the statement in ``sql/<name>.sql``."""
    return resources.files(__package__).joinpath("sql", f"{name}.sql").read_bytes()
