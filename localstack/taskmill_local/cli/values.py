"""Types of option values, each with its own error message."""

import math
from argparse import ArgumentTypeError
from typing import Final

_RETRY: Final = ("first_seconds", "factor", "cap_seconds")


def seconds(text: str) -> float:
    """Parse a duration in seconds, which may be zero."""
    value = _number(text)
    if not 0 <= value < math.inf:
        raise ArgumentTypeError(f"give a number of seconds, 0 or more, not {text!r}")
    return value


def some_seconds(text: str) -> float:
    value = _number(text)
    if not 0 < value < math.inf:
        raise ArgumentTypeError(f"give a number of seconds above 0, not {text!r}")
    return value


def count(text: str) -> int:
    """Parse a whole number from 0 on; 5e6 is accepted."""
    value = _number(text)
    if not (0 <= value < math.inf and value.is_integer()):
        raise ArgumentTypeError(f"give a whole number, 0 or more, not {text!r}")
    return int(value)


def positive(text: str) -> int:
    value = _number(text)
    if not (0 < value < math.inf and value.is_integer()):
        raise ArgumentTypeError(f"give a whole number, 1 or more, not {text!r}")
    return int(value)


def rate(text: str) -> float:
    value = _number(text)
    if not 0 < value < math.inf:
        raise ArgumentTypeError(f"give a number above 0, not {text!r}")
    return value


_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def span(text: str) -> float:
    """Parse a duration with its unit, such as 10m; without one it is in seconds."""
    unit = _UNITS.get(text[-1:])
    value = _number(text) if unit is None else _number(text[:-1]) * unit
    if not 0 < value < math.inf:
        raise ArgumentTypeError(f"give a time above 0, such as 90s, 10m, 2h or 1d, not {text!r}")
    return value


def retry(text: str) -> dict[str, float]:
    """Parse how waits between attempts grow: FIRST, FIRST:FACTOR or FIRST:FACTOR:CAP."""
    values = [_number(one) for one in text.split(":")]
    if len(values) > len(_RETRY) or not all(0 <= value < math.inf for value in values):
        raise ArgumentTypeError(f"give FIRST[:FACTOR[:CAP]], such as 5:2:600, not {text!r}")
    return dict(zip(_RETRY, values, strict=False))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
