"""Moments and spans in milliseconds, the unit of every wire and store."""

from datetime import timedelta

_MILLISECOND = timedelta(milliseconds=1)


def in_ms(span: timedelta) -> int:
    return span // _MILLISECOND
