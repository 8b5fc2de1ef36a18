"""`taskmill status` without an id: the state of a running platform."""

from collections.abc import Mapping
from typing import Any

from taskmill_local.cli.text import aligned

Json = Mapping[str, Any]


def overview(page: Json, *, width: int | None) -> str:
    tasks = ", ".join(f"{count} {status}" for status, count in sorted(page["tasks"].items()))
    head = f"{page['url']}  process {page['pid']}, home {page['home']}\ntasks: {tasks or 'none'}"
    tables = (_stores(page), _functions(page), _mappings(page))
    return "\n\n".join([head, *(aligned(rows, width=width) for rows in tables)])


def _stores(page: Json) -> list[tuple[str, ...]]:
    rows = [
        (name, store["address"], str(store.get("pid") or "yours"))
        for name, store in page["stores"].items()
    ]
    return [("STORE", "ADDRESS", "PROCESS"), *rows]


def _functions(page: Json) -> list[tuple[str, ...]]:
    names = ("concurrency", "environments", "busy", "queued", "invocations", "errors")
    rows = [
        (name, *(str(function[figure]) for figure in names))
        for name, function in page["functions"].items()
    ]
    return [("FUNCTION", "MOST", "STARTED", "BUSY", "QUEUED", "CALLS", "ERRORS"), *rows]


def _mappings(page: Json) -> list[tuple[str, ...]]:
    rows = [
        (
            f"{mapping['topic']} to {mapping['function']}",
            str(mapping["lag"]),
            str(mapping["in_flight"]),
            str(mapping["failures"]),
            mapping["last_error"] or "",
        )
        for mapping in page["mappings"].values()
    ]
    return [("MAPPING", "LAG", "IN FLIGHT", "FAILED", "LAST ERROR"), *rows]
