"""What time is, and chance."""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeAlias

from taskmill.domain.task import Millis

Clock: TypeAlias = Callable[[], Millis]
Pause: TypeAlias = Callable[[timedelta], None]
Chance: TypeAlias = Callable[[], float]
"""A random number from 0 to 1."""
