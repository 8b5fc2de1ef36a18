"""`taskmill types`: the task types, their payloads, and whether their workers take."""

import argparse
from collections.abc import Mapping

from taskmill_local.cli.api import Api, Json
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.reporting import address, report
from taskmill_local.cli.text import type_card
from taskmill_local.cli.type_text import notes_on, state_text

_WORKER_TOPIC = "tasks.worker."


def list_types(options: argparse.Namespace) -> Exit:
    api = Api(address())
    answer = api.types()
    errors = {} if answer.is_refusal or options.json else start_errors(api.platform().body)
    return report(
        answer,
        options,
        lambda body: "\n".join(_card(one, errors.get(one["name"])) for one in body["types"]),
    )


def start_errors(page: Json) -> Mapping[str, str]:
    """Return why workers do not start; only the local system knows, elsewhere their logs say it."""
    functions = page.get("functions", {})
    errors: dict[str, str] = {}
    for mapping in page.get("mappings", {}).values():
        function = functions[mapping["function"]]
        if mapping["topic"].startswith(_WORKER_TOPIC) and function["start_error"]:
            name = mapping["topic"].removeprefix(_WORKER_TOPIC)
            errors[name] = f"{function['start_error']}; its log: {function['log']}"
    return errors


def _card(one: Json, error: str | None) -> str:
    """Put the present state between the head and the fields of the payload."""
    head, limits, *fields = type_card(one).split("\n")
    lines = [f"now {state_text(one['now'])}", *notes_on(one["name"], one["now"])]
    if error is not None:
        lines.append(f"its worker does not start: {error}")
    return "\n".join([head, limits, *(f"  {line}" for line in lines), *fields])
