"""Restarts a function's processes when a file in its folder changes."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from taskmill_local.assembled import Files, Stale, check_assembled, files_of, folder_of
from taskmill_local.background_thread import in_background_thread
from taskmill_local.lambdas.functions import Functions
from taskmill_local.plan import FunctionPlan
from taskmill_local.stores.start import Report

_GLANCE_SECONDS: Final = 1.0
_log = logging.getLogger(__name__)


class Reload:
    """`start` once, and `stop` in every case."""

    def __init__(
        self,
        plans: Mapping[str, FunctionPlan],
        functions: Functions,
        report: Report,
        *,
        root: Path,
        glance_seconds: float = _GLANCE_SECONDS,
    ) -> None:
        self._folders = {name: folder_of(plan) for name, plan in plans.items()}
        self._functions = functions
        self._report = report
        self._root = root
        self._glance_seconds = glance_seconds
        self._seen: dict[str, Files] = {}
        self._watch: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._seen = await in_background_thread(self._look)
        self._watch = asyncio.create_task(self._keep_looking())

    async def stop(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch

    def _look(self) -> dict[str, Files]:
        return {name: files_of([folder]) for name, folder in self._folders.items()}

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(self._glance_seconds)
            try:
                await self._reload_what_changed()
            except OSError as error:  # out of descriptors: the next check will have one
                _log.warning("the functions' folders cannot be read: %s", error)

    async def _reload_what_changed(self) -> None:
        files_by_function = await in_background_thread(self._look)
        names = [name for name, files in files_by_function.items() if files != self._seen[name]]
        self._seen = files_by_function
        for name in names:
            self._functions.recycle(name)
            self._report(name, "restarts: its files have changed")
        if names:
            await self._compare()

    async def _compare(self) -> None:
        """Report a change that affects more than code: it takes effect once assembled."""
        try:
            words = await in_background_thread(check_assembled, self._root)
        except Stale as stale:
            words = str(stale)
        if words:
            self._report("Template", words)
