"""Limits a page to what fits into a response."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import msgspec
from msgspec import Raw, Struct

from functions.gateway.http.cursor import Mark

PAGE_BYTES = 2_000_000
"""The platform carries 6 MB, and its own escapes may make three bytes of one."""


class Line(Struct, frozen=True):
    shown: dict[str, Any]
    mark: Mark


def fitting(lines: Sequence[Line], *, behind: Mark | None) -> tuple[list[Raw], Mark | None]:
    """Return the first lines that fit an answer, and where the next page begins."""
    told = [Raw(msgspec.json.encode(line.shown)) for line in lines]
    ends = list(accumulate(len(bytes(line)) for line in told))
    most = max(bisect_right(ends, PAGE_BYTES), 1)
    if most < len(told):
        return told[:most], lines[most - 1].mark
    return told, behind
