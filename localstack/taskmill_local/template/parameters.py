"""Resolves every parameter of the template: the given value or its default."""

from collections.abc import Mapping
from typing import Any

_LISTS = ("CommaDelimitedList", "List<")


def parameter_values(
    declared: Mapping[str, Mapping[str, Any]],
    overrides: Mapping[str, str],
    complaints: list[str],
) -> dict[str, Any]:
    for name in sorted(overrides.keys() - declared.keys()):
        names = ", ".join(declared) or "none"
        complaints.append(f"the template has no parameter {name}; it has {names}")
    values = {
        name: overrides.get(name, declaration.get("Default"))
        for name, declaration in declared.items()
    }
    for name, value in values.items():
        _check(name, value, declared[name], complaints)
    return {
        name: _typed(str(value), declared[name])
        for name, value in values.items()
        if value is not None
    }


def _check(name: str, value: Any, declaration: Mapping[str, Any], complaints: list[str]) -> None:
    allowed = declaration.get("AllowedValues")
    if value is None:
        complaints.append(f"the parameter {name} has neither a value nor a default")
    elif allowed and str(value) not in map(str, allowed):
        choices = ", ".join(map(str, allowed))
        complaints.append(f"the parameter {name} is {value!r}, but must be one of {choices}")
    elif str(declaration.get("Type")).startswith("AWS::SSM::"):
        complaints.append(
            f"the parameter {name} is read from SSM, which is not available here; use String"
        )


def _typed(value: str, declaration: Mapping[str, Any]) -> str | list[str]:
    if not str(declaration.get("Type")).startswith(_LISTS):
        return value
    return [entry.strip() for entry in value.split(",")] if value else []
