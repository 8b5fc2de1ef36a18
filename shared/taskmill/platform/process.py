"""Process-wide services of every function: clock, randomness, logging, counters."""

import gc
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache, wraps
from typing import Any, Final, ParamSpec, TypeVar

from taskmill.core.ports import Counters
from taskmill.core.task import Millis
from taskmill.core.time import in_ms
from taskmill.settings import Settings
from taskmill.settings.access import S3Access
from taskmill.stores.patience import USUAL, Patience
from taskmill.stores.stores import Stores, Surroundings
from taskmill.submission.ports import Catalogue

A = ParamSpec("A")
P = TypeVar("P")

_VALUES_BETWEEN_COLLECTIONS = 10_000

PROVIDED: Final[dict[str, Callable[..., Any]]] = {}
"""Replacements that tests provide, by the name of the function that they replace."""

_opened: Final[dict[str, Stores]] = {}


def replaceable(build: Callable[A, P]) -> Callable[A, P]:
    """Let a test replace what *build* returns: the one seam of all handlers."""

    @wraps(build)
    def built(*args: A.args, **named: A.kwargs) -> P:
        provided: Callable[A, P] = PROVIDED.get(build.__name__, build)
        return provided(*args, **named)

    return built


@replaceable
def stores(name: str, *, needs: tuple[str, ...], patience: Patience = USUAL) -> Stores:
    """Return the stores of this *name*, which live as long as the process.

    Stores that are not among *needs* cannot be reached: their settings are not even read.
    """
    if name not in _opened:
        settings = Settings.from_env(os.environ, needs=needs)
        _opened[name] = open_stores(settings, name=name, patience=patience)
    return _opened[name]


def open_stores(settings: Settings, *, name: str, patience: Patience = USUAL) -> Stores:
    around = Surroundings(
        clock=clock, pause=pause, entropy=entropy, counters=counters(), catalogue=catalogue
    )
    return Stores(settings, name=name, around=around, patience=patience)


@cache
def bucket() -> S3Access:
    """Return the bucket's settings, for a worker that opens it with its own client."""
    return Settings.from_env(os.environ, needs=("s3",)).s3


@replaceable
def clock() -> Millis:
    return Millis(time.time_ns() // 1_000_000 + _ahead_ms())


@cache
def _ahead_ms() -> int:
    """Return the clock offset that a test asks for."""
    return in_ms(Settings.from_env(os.environ, needs=()).clock_ahead)


@replaceable
def entropy() -> bytes:
    return os.urandom(16)


@replaceable
def pause(span: timedelta) -> None:
    time.sleep(span.total_seconds())


@replaceable
@cache
def nonce() -> str:
    """Return a nonce that identifies this process among all that ever claim a turn."""
    return os.urandom(8).hex()


@replaceable
@cache
def log(service: str) -> logging.Logger:
    """Send the layer's logs through the structured logger of *service*, and return it."""
    from aws_lambda_powertools import Logger

    structured = Logger(service=service)
    layer = logging.getLogger("taskmill")
    layer.handlers = structured.handlers
    layer.setLevel(structured.log_level)
    layer.propagate = False
    return layer


@replaceable
@cache
def catalogue() -> Catalogue:
    from taskmill.stores.catalogue import AssembledCatalogue

    settings = Settings.from_env(os.environ, needs=())
    return AssembledCatalogue(reaches_loopback=settings.reaches_loopback)


@replaceable
@cache
def counters() -> Counters:
    from taskmill.platform.emf import EmfCounters

    return EmfCounters(
        namespace=Settings.from_env(os.environ, needs=()).namespace,
        types={entry.name for entry in catalogue().entries()},
        clock=clock,
    )


@contextmanager
def invocation(service: str) -> Iterator[None]:
    """Log as *service*, and flush the counters at the end, before the process may be frozen."""
    log(service)
    try:
        yield
    finally:
        counters().flush()


def at_init(build: Callable[[], object]) -> None:
    """Build a service while the platform starts the process, so that bad settings fail early.

    Elsewhere, as in tests and tools, importing a handler reads no settings.
    """
    if "AWS_LAMBDA_RUNTIME_API" in os.environ:
        build()
        # Everything that exists now lives as long as the process, so the garbage collector need not
        # scan it, nor run after every few hundred values of a batch.
        gc.freeze()
        gc.set_threshold(_VALUES_BETWEEN_COLLECTIONS)
