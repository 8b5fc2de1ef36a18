"""Reads a YAML file as its top-level sections, verbatim, so that comments survive."""

import re
from collections.abc import Iterator
from textwrap import dedent, indent

from msgspec import Struct

_KEY = re.compile(r"(?P<key>[\w<>]+):(?: +(?P<inline>[^#\s].*))?(?: *#.*)?")


class Section(Struct, frozen=True):
    inline: str
    """The value on the line of the key."""

    block: str
    """The lines below the key, dedented."""


def sections(text: str) -> dict[str, Section]:
    """Split a text at the keys of its top-level mapping."""
    return {key: Section(inline, _block(lines)) for key, inline, lines in _split(text)}


def names(block: str) -> list[str]:
    """Return the keys of a block."""
    return list(sections(block))


def extended(text: str, key: str, block: str) -> str:
    """Append a block to a section, after the existing entries."""
    if not block:
        return text
    lines = text.splitlines(keepends=True)
    begin = next(at for at, line in enumerate(lines) if line.startswith(f"{key}:"))
    ends = (at for at in range(begin + 1, len(lines)) if _KEY.match(lines[at]))
    end = next(ends, len(lines))
    while not _is_of_block(lines[end - 1]):
        end -= 1
    return "".join([*lines[:end], indent(block, "  "), *lines[end:]])


def _split(text: str) -> Iterator[tuple[str, str, list[str]]]:
    key, inline, lines = "", "", []
    for line in text.splitlines(keepends=True):
        begins = _KEY.fullmatch(line.rstrip())
        if begins is None:
            lines.append(line)
            continue
        if key:
            yield key, inline, lines
        key, inline, lines = begins["key"], begins["inline"] or "", []
    if key:
        yield key, inline, lines


def _block(lines: list[str]) -> str:
    """Drop trailing blank lines and unindented comments, which belong to the file."""
    content = [line for line in lines if not line.startswith("#")]
    while content and not content[-1].strip():
        content.pop()
    return dedent("".join(content))


def _is_of_block(line: str) -> bool:
    """Distinguish a block's own line from one that only precedes the next section."""
    return bool(line.strip()) and not line.startswith("#")
