"""What every function needs of its process: time, chance, log lines, counts."""

import gc
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache, wraps
from typing import TypeVar

from taskmill.core.counting import Count
from taskmill.core.ports import Counters
from taskmill.core.task import Millis
from taskmill.core.time import in_ms
from taskmill.settings import Settings
from taskmill.stores import crash
from taskmill.submission.ports import Catalogue

P = TypeVar("P")

_VALUES_BETWEEN_COLLECTIONS = 10_000


def clock() -> Millis:
    return Millis(time.time_ns() // 1_000_000 + _ahead_ms())


@cache
def _ahead_ms() -> int:
    """Tell how wrong a test wants this clock to be."""
    return in_ms(Settings.from_env(os.environ, needs=()).clock_ahead)


def entropy() -> bytes:
    return os.urandom(16)


def pause(span: timedelta) -> None:
    time.sleep(span.total_seconds())


@cache
def word() -> str:
    """Name this process among all that ever claim a turn."""
    return os.urandom(8).hex()


@cache
def log(service: str) -> logging.Logger:
    """Send the layer's log lines through the structured logger of *service*, and return it."""
    from aws_lambda_powertools import Logger

    structured = Logger(service=service)
    layer = logging.getLogger("taskmill")
    layer.handlers = structured.handlers
    layer.setLevel(structured.log_level)
    layer.propagate = False
    return layer


@cache
def catalogue() -> Catalogue:
    from taskmill.stores.catalogue import AssembledCatalogue

    settings = Settings.from_env(os.environ, needs=())
    return AssembledCatalogue(reaches_loopback=settings.reaches_loopback)


@cache
def counters() -> Counters:
    from taskmill.platform.emf import EmfCounters

    return EmfCounters(
        namespace=Settings.from_env(os.environ, needs=()).namespace,
        types={entry.name for entry in catalogue().entries()},
        clock=clock,
    )


def count_opening(store: str) -> None:
    counters().count(Count.BREAKERS, store=store)


@contextmanager
def counting() -> Iterator[None]:
    """Tell at the end of an invocation what was counted in it: the process may then be frozen."""
    try:
        yield
    finally:
        counters().flush()


def at_init(build: Callable[[], object]) -> None:
    """Build while the platform starts the process: what is wrong is refused then.

    Elsewhere, as in tests and tools, importing a handler reads nothing.
    """
    if "AWS_LAMBDA_RUNTIME_API" in os.environ:
        build()
        # What there is now stays as long as the process: nobody need look through it for garbage,
        # nor look after every few hundred values of a batch.
        gc.freeze()
        gc.set_threshold(_VALUES_BETWEEN_COLLECTIONS)


def rigged(name: str) -> Callable[[Callable[[], P]], Callable[[], P]]:
    """Let a test end the process at an edge of what is bound by this *name*, if it says so."""

    def rig(build: Callable[[], P]) -> Callable[[], P]:
        @wraps(build)
        def built() -> P:
            bound = build()
            at = Settings.from_env(os.environ, needs=()).crash_at
            return bound if at is None else crash.rigged(name, bound, at)

        return built

    return rig
