"""All mappings of a plan, started and stopped together."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta

from taskmill_local.mappings.client import ConsumerSettings, consumer_settings
from taskmill_local.mappings.limits import Limits
from taskmill_local.mappings.mapping import Invoke, Report, RunningMapping
from taskmill_local.mappings.snapshot import MappingSnapshot
from taskmill_local.plan import MappingPlan

_LOG = logging.getLogger(__name__)
_REPEAT_AFTER = timedelta(minutes=1)


class Mappings:
    def __init__(  # noqa: PLR0913 - their dependencies, all named
        self,
        plans: Sequence[MappingPlan],
        *,
        brokers: str,
        invoke: Invoke,
        limits: Limits | None = None,
        report: Report = _LOG.warning,
        settings: ConsumerSettings = consumer_settings,
    ) -> None:
        self._plans = plans
        self._brokers = brokers
        self._invoke = invoke
        self._limits = limits or Limits()
        self._report = report
        self._settings = settings
        self._reported: dict[str, float] = {}
        self._running: dict[str, RunningMapping] = {}

    async def start(self) -> None:
        """Start reading; unavailable brokers are waited for."""
        for plan in self._plans:
            self._running[plan.name] = RunningMapping(
                plan,
                brokers=self._brokers,
                invoke=self._invoke,
                limits=self._limits,
                report=self._report_once,
                settings=self._settings,
            )
        for mapping in self._running.values():
            mapping.start()

    async def stop(self, grace: timedelta) -> None:
        """Start no more batches, give those in flight their grace, commit, leave the groups."""
        await asyncio.gather(*(mapping.stop(grace) for mapping in self._running.values()))

    def snapshot(self) -> Mapping[str, MappingSnapshot]:
        return {name: mapping.snapshot() for name, mapping in self._running.items()}

    def _report_once(self, sentence: str) -> None:
        """Report once for all mappings, and again after a while: clients complain every second."""
        now = time.monotonic()
        if now >= self._reported.get(sentence, now):
            self._reported[sentence] = now + _REPEAT_AFTER.total_seconds()
            self._report(sentence)
