"""`taskmill up`: starts the system and keeps it running until it is stopped."""

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from typing import Any, Final

from rich.console import Console
from rich.live import Live
from rich.text import Text

from taskmill_local.cli.commands.hold import Interrupted, hold
from taskmill_local.cli.console import OurConsole
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.screen import Pulse, screen
from taskmill_local.platform import Platform
from taskmill_local.settings import Settings

_TICK_SECONDS: Final = 1.0
_QUIET_SECONDS: Final = 10.0


def up(*, as_json: bool) -> Exit:
    console = OurConsole()
    voice = _Voice(console, is_silent=as_json)
    platform = Platform(Settings.from_environment(), report=voice.report)
    try:
        asyncio.run(hold(platform, lambda _url: _stay(platform, voice, as_json=as_json)))
    except Interrupted:
        sys.stderr.write("stopped\n") if as_json else voice.say("stopped")
        return Exit.DONE if voice.was_up else Exit.INTERRUPTED
    return Exit.DONE


class _Voice:
    """Prints the progress of the start."""

    def __init__(self, console: Console, *, is_silent: bool) -> None:
        self.console = console
        self.was_up = False
        self._is_silent = is_silent

    def say(self, text: str | Text) -> None:
        if not self._is_silent:
            self.console.print(text)

    def report(self, name: str, sentence: str) -> None:
        if sentence != "starting":
            self.say(Text(f"{name} {sentence}", style="dim"))


async def _stay(platform: Platform, voice: _Voice, *, as_json: bool) -> None:
    snapshot = await platform.snapshot()
    voice.was_up = True
    if as_json:
        sys.stdout.write(f"{json.dumps(snapshot)}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()
    voice.say(screen(snapshot))
    if voice.console.is_terminal:
        await _pulse_in_place(platform, voice.console)
    else:
        await _pulse_in_lines(platform, voice)


async def _pulse_in_place(platform: Platform, console: Console) -> None:
    pulse = Pulse()
    with Live(console=console, auto_refresh=False, transient=True) as live:
        while True:
            line = Text(pulse.line(await platform.snapshot()), no_wrap=True, overflow="ellipsis")
            live.update(line, refresh=True)
            await asyncio.sleep(_TICK_SECONDS)


async def _pulse_in_lines(platform: Platform, voice: _Voice) -> None:
    """Print a line when something has changed, instead of one each second into a file."""
    pulse = Pulse()
    last: Mapping[str, Any] | None = None
    while True:
        snapshot = await platform.snapshot()
        figures = pulse.figures(snapshot)
        if figures != last:
            voice.say(f"{time.strftime('%H:%M:%S')}  {pulse.line(snapshot)}")
            sys.stdout.flush()
            last = figures
            await asyncio.sleep(_QUIET_SECONDS)
        else:
            await asyncio.sleep(_TICK_SECONDS)
