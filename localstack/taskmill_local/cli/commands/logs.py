"""Shows the logs of functions and stores, from the files in the platform's home."""

import os
import sys
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from taskmill_local.cli.api import Api, Unreachable
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.printing import complain, page
from taskmill_local.cli.reporting import address
from taskmill_local.cli.text import aligned, command
from taskmill_local.settings import Settings

_GLANCE_SECONDS: Final = 0.2


def show_logs(name: str | None, *, lines: int, follows: bool) -> Exit:
    folder = _home() / "logs"
    logs = {path.stem.lower(): path for path in sorted(folder.glob("*.log"))}
    if name is None:
        return _list(folder, logs)
    path = logs.get(name.lower().removesuffix(".log"))
    if path is None:
        names = (
            ", ".join(path.stem for path in logs.values()) or "none; was the system ever started?"
        )
        sentence = f"There is no log {name!r} in {folder}; there are: {names}."
        return complain(sentence, Exit.OTHERWISE)
    with path.open(encoding="utf-8", errors="replace") as file:
        sys.stdout.writelines(map(page, deque(file, maxlen=lines)))
        sys.stdout.flush()
        if follows:
            _follow(path, file)
    return Exit.DONE


def _home() -> Path:
    """Return the home: the configured one, that of the running system, or the default.

    Another terminal may be in another folder, without the settings of `up`.
    """
    if os.environ.get("TASKMILL_HOME") and not os.environ.get("TASKMILL_URL"):
        return Settings.from_environment().home
    with suppress(Unreachable):
        page = Api(address()).platform().body
        if "home" in page:
            return Path(page["home"])
    return Settings.from_environment().home


def _list(folder: Path, logs: dict[str, Path]) -> Exit:
    if not logs:
        return complain(f"No logs in {folder}; was the system ever started?", Exit.OTHERWISE)
    rows = [(path.stem, _size(path.stat().st_size)) for path in logs.values()]
    sys.stdout.write(f"{aligned(rows)}\nShow one with `{command()} logs NAME`; -f follows it.\n")
    return Exit.DONE


def _size(size: int) -> str:
    return "empty" if size == 0 else f"{max(size / 1024, 0.1):.1f} KB"


def _follow(path: Path, file: IO[str]) -> None:
    while True:
        if text := file.read():
            sys.stdout.write(page(text))
            sys.stdout.flush()
        elif _was_replaced(path, file):
            with path.open(encoding="utf-8", errors="replace") as successor:
                return _follow(path, successor)
        else:
            time.sleep(_GLANCE_SECONDS)


def _was_replaced(path: Path, file: IO[str]) -> bool:
    """Return whether the log was rotated and a new file replaced it."""
    try:
        return path.stat().st_ino != os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return False
