"""Schedules as plain text."""

from collections.abc import Iterable

from taskmill_local.cli.text import Json, aligned, one_line

Rows = list[tuple[str, ...]]


def schedule_rows(schedules: Iterable[Json]) -> Rows:
    head = ("NAME", "WHEN", "ZONE", "TYPE", "STATE", "NEXT", "LAST", "FIRED")
    return [head, *(_row(one) for one in schedules)]


def _row(one: Json) -> tuple[str, ...]:
    return (
        one["name"],
        _when(one),
        one["timezone"],
        one["task"]["type"],
        "enabled" if one["enabled"] else "paused",
        _second(one.get("next_at")),
        _second(one.get("last_at")),
        str(one["fired"]),
    )


def schedule_card(one: Json) -> str:
    """Show everything about one schedule, one line per field."""
    refusal = one.get("last_refusal")
    about = {
        "when": f"{_when(one)} in {one['timezone']}",
        "gap, fold": f"{one['dst']['gap']}, {one['dst']['fold']}",
        "overlap": one["overlap"],
        "catch up": _catch_up(one),
        "jitter": f"up to {one['jitter_seconds']:g} s" if one["jitter_seconds"] else None,
        "task": one_line(one["task"]),
        "state": _state(one),
        "next": _waiting(one),
        "last": f"{one['last_at']}, task {one['last_task_id']}" if "last_at" in one else None,
        "refused": f"{refusal['type']}: {refusal['detail']}" if refusal else None,
        "fires": f"{one['fired']} fired, {one['skipped']} skipped, {one['missed']} missed"
        f", {one['backfilled']} backfilled",
        "managed": "declared in the folder of its type" if one["managed"] else None,
        "revision": f"{one['revision']} of {one['changed_at']}",
    }
    rows = [(name, value) for name, value in about.items() if value]
    return f"{one['name']}\n{aligned(rows, indent='  ')}"


def _when(one: Json) -> str:
    return str(one["cron"]) if one.get("cron") else f"every {one['every_seconds']} s"


def _catch_up(one: Json) -> str:
    if one["catch_up"] != "all":
        return str(one["catch_up"])
    return f"all within {one['catch_up_window_seconds']} s"


def _state(one: Json) -> str:
    if one["enabled"]:
        return "enabled"
    return f"paused by {one['paused_by']} at {one['paused_at']}"


def _waiting(one: Json) -> str | None:
    next_at = one.get("next_at")
    return f"{next_at}, waits for the previous task" if one.get("waits") else next_at


def coming_rows(coming: Iterable[Json]) -> Rows:
    head = ("ON CLOCKS THERE", "IN UTC", "UNUSUAL")
    return [head, *(_coming(one) for one in coming)]


_UNUSUAL = {
    "skipped": "skipped: clocks skip this time",
    "shifted": "shifted: clocks skip this time",
    "first": "the first of two: clocks repeat this time",
    "second": "the second of two: clocks repeat this time",
}


def _coming(one: Json) -> tuple[str, ...]:
    mark = str(one.get("mark", ""))
    return one["reading"].replace("T", " "), _second(one.get("at")), _UNUSUAL.get(mark, mark)


def fire_rows(fires: Iterable[Json]) -> Rows:
    return [("INSTANT", "TASK"), *((one["at"], one["task_id"]) for one in fires)]


def _second(moment: str | None) -> str:
    return moment.partition(".")[0].replace("T", " ").rstrip("Z") if moment else "-"
