"""The demo's display: tasks while they run, and how they ended."""

from collections.abc import Sequence
from typing import Final, Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from taskmill_local.cli.demo.story import Role
from taskmill_local.cli.printing import as_line
from taskmill_local.cli.text import aligned, span, why

_STYLES: Final = {
    "succeeded": "green",
    "dead": "red",
    "running": "yellow",
    "queued": "dim",
}
_SHORT_ID: Final = 8
_WIDE: Final = 110
_COLUMNS: Final = ("id", "what", "status", "waited", "took", "tries", "reason")


class Show(Protocol):
    """Displays the progress of tasks."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def update(self, roles: Sequence[Role]) -> None: ...


def show_on(console: Console) -> Show:
    return LiveShow(console) if console.is_terminal else PlainShow(console)


class LiveShow:
    """A table that is updated in place and keeps its last state."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def update(self, roles: Sequence[Role]) -> None:
        self._live.update(tasks_table(roles, width=self._console.width), refresh=True)


class PlainShow:
    """A line for each change, and the table at the end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._seen: dict[str, str] = {}
        self._roles: Sequence[Role] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        rows = [_row(role, shortens=False) for role in self._roles]
        self._console.print(f"\n{aligned([tuple(map(str.upper, _COLUMNS)), *rows])}")

    def update(self, roles: Sequence[Role]) -> None:
        self._roles = roles
        for role in roles:
            status = role.task["status"]
            if self._seen.get(role.id) != status:
                self._seen[role.id] = status
                self._console.print(f"{_short(role.id)}  {role.act.title}: {status}")


def tasks_table(roles: Sequence[Role], *, width: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    id_width = len(roles[0].id) if roles and width >= _WIDE else _SHORT_ID + 1
    table.add_column("id", no_wrap=True, width=id_width)
    for name in _COLUMNS[1:-1]:
        table.add_column(name, min_width=len(name), no_wrap=True)
    table.add_column(_COLUMNS[-1], ratio=1)
    for role in roles:
        cells = _row(role, shortens=id_width <= _SHORT_ID + 1)
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in cells))
    return table


def _row(role: Role, *, shortens: bool) -> tuple[str, ...]:
    task = role.task
    return (
        _short(role.id) if shortens else role.id,
        role.act.title,
        task["status"],
        span(task.get("wait_ms")),
        span(task.get("duration_ms")),
        str(task["attempt"]) if role.has_ended else "-",
        as_line(why(task)),
    )


def _short(task_id: str) -> str:
    """Keep the end: ids created together have the same beginning."""
    return f"…{task_id[-_SHORT_ID:]}"
