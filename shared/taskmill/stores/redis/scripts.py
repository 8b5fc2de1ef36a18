"""Loads the scripts: one command of the queue per file in `lua/<subject>/`."""

from hashlib import sha1
from pathlib import Path
from typing import Final

from msgspec import Struct

_FOLDER: Final = Path(__file__).with_name("lua")


class Script(Struct, frozen=True):
    source: bytes
    sha: str
    is_for_many: bool = False
    """True when one call serves many records of a shard."""


def load(name: str, *shared: str) -> Script:
    """Return the script in ``lua/<name>.lua``; a name is `subject/command`.

    The *shared* parts, with names of the same kind, stand in front of the body.
    """
    source = _read(name)
    if shared:
        first, _, body = source.partition(b"\n")
        parts = [_read(one).partition(b"\n")[2] for one in shared]
        source = b"\n".join((first, *parts, body))
    return _script(source)


def load_for_many(name: str) -> Script:
    """Return a script on a record, whose second key it is, that is called for many at once."""
    first, _, body = _read(name).partition(b"\n")
    loop = _read("shard/for_each_record").partition(b"\n")[2]
    source = b"\n".join((first, b"local function once(KEYS, ARGV)", body, b"end", loop))
    return _script(source, is_for_many=True)


def _script(source: bytes, *, is_for_many: bool = False) -> Script:
    return Script(source, sha1(source, usedforsecurity=False).hexdigest(), is_for_many)


def _read(name: str) -> bytes:
    return (_FOLDER / f"{name}.lua").read_bytes()
