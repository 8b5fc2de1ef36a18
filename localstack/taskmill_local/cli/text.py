"""Tasks, times and tables as plain text."""

import json
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import indent
from typing import Any, Final

from taskmill_local.cli.printing import as_line

Json = Mapping[str, Any]

_MILLIS_SHOWN_UNTIL: Final = 1_000
_MINUTE: Final = 60_000
FINAL: Final = frozenset({"succeeded", "dead", "cancelled"})


def command() -> str:
    """Return how this command was called, so that suggested commands work when typed."""
    program_name = sys.argv[0]
    program = shutil.which("taskmill")
    if Path(program_name).name != "taskmill" or (program and Path(program).samefile(program_name)):
        return "taskmill"
    return str(Path(program_name).absolute())  # another terminal may be in another folder


def starting() -> str:
    """Return the command that starts the system from the project's folder."""
    name = command()
    return f"{name} up" if name == "taskmill" else "make up"


def span(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "-"
    if milliseconds < _MILLIS_SHOWN_UNTIL:
        return f"{milliseconds:.0f} ms"
    if milliseconds < _MINUTE:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds / _MINUTE:.1f} min"


def counted(number: int, one: str) -> str:
    """Return a number with its noun: one task, but two tasks."""
    return f"{number:,} {one}" if number == 1 else f"{number:,} {one}s"


_SAID_BY_THE_REASON: Final = frozenset(
    {
        *("Retry", "Snooze", "Discard", "Stopped", "TimedOut"),
        *("Misfit", "Poisoned", "UnknownType", "Expired", "ResultInvalid"),
    }
)
"""Error classes that no worker's code raises."""


def why(task: Json) -> str:
    """Return why a task did not succeed: the reason, and the worker's own message."""
    error = task.get("error") or {}
    kind = "" if error.get("class") in _SAID_BY_THE_REASON else error.get("class")
    return ": ".join(word for word in (task.get("reason"), kind, error.get("message")) if word)


def aligned(rows: Iterable[Sequence[str]], *, indent: str = "", width: int | None = None) -> str:
    """Align rows in columns; cut lines at *width* if given."""
    table = [tuple(map(as_line, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = (
        indent + "  ".join(cell.ljust(wide) for cell, wide in zip(row, widths, strict=True))
        for row in table
    )
    return "\n".join(_cut(line.rstrip(), width) for line in lines)


def task_card(task: Json) -> str:
    """Show everything about one task, one line per field."""
    about = {
        "type": task["type"],
        "status": task["status"],
        "attempt": f"{task['attempt']} of {task['max_attempts']}",
        "priority": task.get("priority"),
        "fairness key": task.get("fairness_key"),
        "created": task["created_at"],
        "begins": task.get("run_at"),
        "expires": task.get("expires_at"),
        "waited": span(task["wait_ms"]) if "wait_ms" in task else None,
        "took": span(task["duration_ms"]) if "duration_ms" in task else None,
        "finished": task.get("finished_at"),
        "key": task.get("idempotency_key"),
        "metadata": ", ".join(f"{key}={value}" for key, value in task["metadata"].items()),
        "losses": str(task["losses"]) if task.get("losses") else None,
        "cancel": "its worker was asked to stop it" if task.get("cancel_requested") else None,
        "next attempt": task.get("next_attempt_at"),
        "reason": why(task),
        "result": one_line(task["result"]) if "result" in task else None,
        "result at": _place(task.get("result_ref")),
        "payload at": _place(task.get("payload_ref")),
        "payload": one_line(task["payload"]) if "payload" in task else None,
    }
    rows = [(name, value) for name, value in about.items() if value]
    return f"{task['id']}\n{aligned(rows, indent='  ')}{_stack_of(task)}"


def _stack_of(task: Json) -> str:
    stack = (task.get("error") or {}).get("stack")
    return f"\n  raised at\n{indent(stack, '    ')}" if stack else ""


def _place(pointer: Json | None) -> str | None:
    """Return where a large value is stored, by its link if there is one."""
    if pointer is None:
        return None
    return f"{pointer.get('download_url', pointer['url'])} ({pointer['size']:,} bytes)"


def task_rows(tasks: Iterable[Json]) -> list[tuple[str, ...]]:
    head = ("ID", "TYPE", "STATUS", "CREATED", "WAITED", "TOOK", "REASON")
    return [head, *(_task_row(task) for task in tasks)]


def type_card(entry: Json) -> str:
    schema = entry["schema"]
    definition = schema.get("$defs", {}).get(schema.get("$ref", "").rpartition("/")[2], schema)
    required = set(definition.get("required", ()))
    rows = [
        (f"  {name}", _kind(field), "required" if name in required else _default(field))
        for name, field in definition.get("properties", {}).items()
    ]
    defaults = entry["defaults"]
    limits = f"{defaults['max_attempts']} attempts, {defaults['timeout_seconds']:g} s each"
    if (priority := defaults.get("priority", "normal")) != "normal":
        limits += f", {priority} priority"
    head = f"{entry['name']}  {entry['title']}\n  by default {limits}"
    return f"{head}\n{aligned(rows)}" if rows else head


def one_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _task_row(task: Json) -> tuple[str, ...]:
    return (
        task["id"],
        task["type"],
        task["status"],
        task["created_at"].partition(".")[0].replace("T", " "),
        span(task.get("wait_ms")),
        span(task.get("duration_ms")),
        why(task),
    )


def _cut(line: str, width: int | None) -> str:
    return line if width is None or len(line) <= width else f"{line[: width - 1]}…"


def _kind(field: Json) -> str:
    if "anyOf" in field:
        return " or ".join(_kind(one) for one in field["anyOf"])
    kind = field.get("type") or ("object" if "$ref" in field else "any JSON")
    return str(kind)


def _default(field: Json) -> str:
    return f"default {json.dumps(field['default'])}" if "default" in field else ""
