"""Reads the functions of the template."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from taskmill_local.plan import FunctionPlan
from taskmill_local.template.resource import Resource

# Functions without a reservation share the whole account's; ten fit a laptop.
_CONCURRENCY = 10
_WORKERS = "functions.workers."


def function_plan(resource: Resource, *, root: Path) -> FunctionPlan:
    resource.expect("PackageType", "Zip", default="Zip")
    runtime = resource.get("Runtime", "")
    if not str(runtime).startswith("python3"):
        resource.complain(f"Runtime is {runtime!r}, but only python3.… is supported here")
    handler = resource.text("Handler")
    return FunctionPlan(
        name=resource.name,
        handler=handler,
        code=root,
        timeout=timedelta(seconds=resource.number("Timeout", default=3, low=1, high=900)),
        memory_mb=resource.number("MemorySize", default=128, low=128, high=10_240),
        concurrency=resource.number(
            "ReservedConcurrentExecutions", default=_CONCURRENCY, low=0, high=1_000
        ),
        environment=_environment(resource),
        hands_back=handler.startswith(_WORKERS),
    )


def _environment(resource: Resource) -> Mapping[str, str]:
    # Each variable is resolved separately, so that one problem does not hide the next.
    environment = resource.properties.get("Environment") or {}
    variables = environment.get("Variables") if isinstance(environment, dict) else None
    if not isinstance(variables, dict):
        if environment:
            resource.complain("Environment must be a mapping with the single key Variables")
        return {}
    view = Resource(
        name=resource.name,
        kind=resource.kind,
        properties={f"Environment.Variables.{name}": value for name, value in variables.items()},
        values=resource.values,
        complaints=resource.complaints,
    )
    values = {name: view.get(f"Environment.Variables.{name}") for name in variables}
    return {name: _as_text(value) for name, value in values.items() if value is not None}


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
