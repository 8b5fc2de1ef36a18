"""Loads the scripts: one command of the queue per file in `lua/<subject>/`."""

from hashlib import sha1
from importlib import resources

from msgspec import Struct


class Script(Struct, frozen=True):
    source: bytes
    sha: str


def load(name: str) -> Script:
    """Return the script in ``lua/<name>.lua``; a name is `subject/command`."""
    source = resources.files(__package__).joinpath("lua", f"{name}.lua").read_bytes()
    return Script(source, sha1(source, usedforsecurity=False).hexdigest())
