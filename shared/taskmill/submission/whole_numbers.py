"""Whole numbers, however JSON writes them."""

import json

import msgspec
from msgspec import Struct

_LARGEST = 2**53
"""Beyond that a number with a point does not tell which whole number it means."""


class _Reading(Struct):
    was_pointed: bool = False

    def number(self, text: str) -> float | int:
        number = float(text)
        if not number.is_integer() or abs(number) > _LARGEST:
            return number
        self.was_pointed = True
        return int(number)


def with_whole_numbers(payload: bytes) -> bytes | None:
    """Return *payload* with 3 for 3.0 and 100 for 1e2, or None where nothing is written so."""
    reading = _Reading()
    value = json.loads(payload, parse_float=reading.number)
    return msgspec.json.encode(value) if reading.was_pointed else None
