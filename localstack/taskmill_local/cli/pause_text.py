"""Pauses as plain text."""

from collections.abc import Iterable

from taskmill_local.cli.text import Json

Rows = list[tuple[str, ...]]
_LATER = "Redis is unavailable: this takes effect about a second after Redis is back."


def pause_rows(pauses: Iterable[Json]) -> Rows:
    return [("TYPE", "UNTIL", "SINCE", "BY", "REASON"), *(_row(one) for one in pauses)]


def _row(one: Json) -> tuple[str, ...]:
    until = _second(one["until"]) if "until" in one else "resumed"
    return (
        one.get("type", "every type"),
        until,
        _second(one["at"]),
        one["by"],
        one.get("reason", ""),
    )


def paused_text(one: Json) -> str:
    until = f"until {_second(one['until'])} UTC" if "until" in one else "until it is resumed"
    return _with_delay(one, f"{_what(one)} is paused {until}.")


def resumed_text(one: Json) -> str:
    return _with_delay(one, f"{_what(one)} is resumed.")


def _what(one: Json) -> str:
    return str(one.get("type", "Everything"))


def _with_delay(one: Json, sentence: str) -> str:
    return f"{sentence} {_LATER}" if "lanes" in one else sentence


def _second(moment: str) -> str:
    return moment.partition(".")[0].replace("T", " ")
