"""Reads the scheduled rules of the template."""

import re
from typing import Any

from taskmill_local.plan import RulePlan
from taskmill_local.template.resource import Resource

_RATE = r"rate\((1 (minute|hour|day)|([2-9]|[1-9]\d+) (minutes|hours|days))\)"
_CRON = r"cron\(\S+( \S+){5}\)"
_EXPRESSION = re.compile(f"{_RATE}|{_CRON}")
_TARGET = frozenset({"Arn", "Id", "Input"})


def rule_plan(resource: Resource) -> RulePlan:
    resource.expect("State", "ENABLED", default="ENABLED")
    expression = resource.text("ScheduleExpression")
    if expression and not _EXPRESSION.fullmatch(expression):
        resource.complain(
            f"ScheduleExpression is {expression!r}, but must be like "
            "'rate(1 minute)', 'rate(5 minutes)' or 'cron(0 12 * * ? *)'"
        )
    target = _target(resource)
    event = target.get("Input")
    if event is not None and not isinstance(event, str):
        resource.complain(f"Input must be JSON text, not {event!r}")
    return RulePlan(
        name=resource.name,
        function=resource.function("Targets.Arn", target.get("Arn")),
        expression=expression,
        event=event,
    )


def _target(resource: Resource) -> dict[str, Any]:
    match resource.get("Targets"):
        case [dict(target)]:
            for key in sorted(target.keys() - _TARGET):
                resource.complain(f"Targets.{key} is not supported here; supported: Arn, Id, Input")
            return target
        case targets:
            resource.complain(f"Targets is {targets!r}, but must be a list of exactly one target")
            return {}
