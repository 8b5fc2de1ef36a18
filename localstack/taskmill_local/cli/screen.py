"""The display of `taskmill up`: addresses, and a status line."""

import time
from collections.abc import Iterable, Mapping
from shutil import get_terminal_size
from typing import Any, Final

from rich.text import Text

from taskmill_local.cli.text import command
from taskmill_local.settings import DEFAULT_PORT

Snapshot = Mapping[str, Any]

_INDENT: Final = 12
_PAYLOAD = '{"say": "hello"}'
_TASK = f'{{"type": "echo", "payload": {_PAYLOAD}}}'


def screen(snapshot: Snapshot) -> Text:
    url = snapshot["url"]
    seconds = sum(snapshot["start_seconds"].values())
    text = Text()
    text.append("\ntaskmill is up at ")
    text.append(url, style="bold green")
    text.append(f" after {seconds:.1f} s\n\n")
    text.append("Submit a task and wait for its result:\n", style="bold")
    text.append(f"  {_prefix(url)}{command()} submit echo '{_PAYLOAD}' --wait 5\n")
    text.append(f"  curl -H 'content-type: application/json' {url}/v1/tasks \\\n")
    text.append(f"    -d '{_TASK}'\n\n")
    for name, place in _places(snapshot):
        text.append(f"{name:<{_INDENT}}", style="bold")
        text.append(f"{place}\n")
    return text


def _folded(names: Iterable[str], width: int) -> str:
    """Break lines only between names, and align continuation lines."""
    lines = [""]
    for name in names:
        if lines[-1] and len(f"{lines[-1]} {name},") > width - _INDENT:
            lines.append("")
        lines[-1] += f" {name}," if lines[-1] else f"{name},"
    return f"\n{'':<{_INDENT}}".join(lines).rstrip(",")


def _prefix(url: str) -> str:
    """Return the address prefix if the commands need one to find the system."""
    return "" if url == f"http://127.0.0.1:{DEFAULT_PORT}" else f"TASKMILL_URL={url} "


def _places(snapshot: Snapshot) -> list[tuple[str, str]]:
    stores = [
        (name, answer["address"] + (" (yours)" if answer["is_external"] else ""))
        for name, answer in snapshot["stores"].items()
    ]
    functions = [
        f"{answer['concurrency']} {name}" for name, answer in snapshot["functions"].items()
    ]
    return [
        *stores,
        ("SQL", _how_to_enqueue(snapshot["stores"]["PostgreSQL"].get("application"))),
        ("Functions", _folded(functions, get_terminal_size().columns)),
        ("Logs", f"{snapshot['home']}/logs ({_prefix(snapshot['url'])}{command()} logs NAME)"),
        ("Stop", "Ctrl-C; the next start continues with all tasks"),
    ]


def _how_to_enqueue(application: str | None) -> str:
    """Describe who may call `taskmill.enqueue`: the queue's own PostgreSQL user may not."""
    others = "GRANT taskmill_enqueue TO your role"
    if application is None:
        return f"{others}, and it may call taskmill.enqueue"
    return f"psql {application} may call taskmill.enqueue (others: {others})"


class Pulse:
    """The status line: the number of tasks by state, and the request rate."""

    def __init__(self) -> None:
        self._requests = 0
        self._seen_at: float | None = None

    def figures(self, snapshot: Snapshot) -> Mapping[str, Any]:
        """Return the figures whose change justifies a new line."""
        return {"tasks": snapshot["tasks"], "lag": snapshot["lag"]}

    def line(self, snapshot: Snapshot) -> str:
        tasks = snapshot["tasks"]
        parts = [
            f"tasks {sum(tasks.values())}",
            f"done {tasks.get('succeeded', 0)}",
            f"dead {tasks.get('dead', 0)}",
            f"running {tasks.get('running', 0)}",
            f"lag {snapshot['lag']}",
            f"{self._rate(snapshot['requests']):.0f} requests/s",
        ]
        return " · ".join(parts)

    def _rate(self, requests: int) -> float:
        now = time.monotonic()
        since = now - self._seen_at if self._seen_at is not None else 0.0
        rate = (requests - self._requests) / since if since > 0 else 0.0
        self._requests, self._seen_at = requests, now
        return rate
