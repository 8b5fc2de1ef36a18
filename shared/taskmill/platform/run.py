"""What an invocation runs tasks with: threads or a loop, and the end of its process."""
# ruff: noqa: PLC0415 - a function imports only what it runs tasks with

import os
import random
from datetime import timedelta
from functools import cache
from typing import Any

from taskmill.execution.context import Shop
from taskmill.execution.ports import Crew, Errands
from taskmill.platform import process
from taskmill.platform.shutdown import Departure
from taskmill.stores.stores import Stores


@process.replaceable
@cache
def crew() -> Crew:
    from taskmill.platform.executor import ThreadCrew

    return ThreadCrew()


@process.replaceable
@cache
def loop_crew() -> Crew:
    from taskmill.platform.loop_executor import LoopCrew

    return LoopCrew()


@process.replaceable
@cache
def errands() -> Errands:
    from taskmill.platform.background import ThreadErrands

    return ThreadErrands()


@process.replaceable
@cache
def departure() -> Departure:
    return Departure(os.environ.get("AWS_LAMBDA_RUNTIME_API"))


def shop(  # noqa: PLR0913 - how an invocation runs its tasks, each by its name
    stores: Stores,
    context: Any,
    *,
    concurrency: int,
    longest: timedelta,
    crew: Crew,
    cuts_off_cancelled: bool = False,
) -> Shop:
    """Return what an invocation runs tasks with, for as long as its *context* gives it."""
    return Shop(
        leases=stores.leases,
        bus=stores.bus,
        crew=crew,
        clock=stores.clock,
        chance=random.random,
        process=process.word(),
        concurrency=concurrency,
        longest=longest,
        remaining=lambda: timedelta(milliseconds=context.get_remaining_time_in_millis()),
        pace=stores.pace,
        cuts_off_cancelled=cuts_off_cancelled,
        is_leaving=lambda: departure().is_wanted,
    )
