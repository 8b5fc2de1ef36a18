"""The test kit for workers: `perform` once, or a task's whole life in a `Mill`; no servers."""

from taskmill.testing.alone import perform
from taskmill.testing.clock import MovableClock
from taskmill.testing.mill import Life, Mill
from taskmill.testing.refusal import Refused

__all__ = ["Life", "Mill", "MovableClock", "Refused", "perform"]
