"""One resource of the expanded template, read property by property; collects all problems."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from taskmill_local.template.known import PROPERTIES
from taskmill_local.template.refusal import Unresolved
from taskmill_local.template.values import NO_VALUE, Values

_FUNCTION_OF_ARN = re.compile(r":function:([^:/]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    name: str
    kind: str
    properties: Mapping[str, Any]
    values: Values
    complaints: list[str]

    def complain(self, complaint: str) -> None:
        self.complaints.append(f"{self.name} ({self.kind}): {complaint}")

    def refuse_unknown(self) -> None:
        known = PROPERTIES[self.kind]
        for name in self.properties:
            if name not in known:
                obeyed = ", ".join(sorted(known.obeyed))
                self.complain(f"the property {name} is not supported here; supported: {obeyed}")

    def get(self, name: str, default: Any = None) -> Any:
        return self._resolved(name, self.properties.get(name), default)

    def inner(self, name: str, known: frozenset[str]) -> Mapping[str, Any]:
        """Return a property that is a mapping with no keys other than the ``known`` ones."""
        value = self.get(name, {})
        if not isinstance(value, dict):
            self.complain(f"{name} must be a mapping, not {value!r}")
            return {}
        for key in sorted(value.keys() - known):
            self.complain(
                f"{name}.{key} is not supported here; supported: {', '.join(sorted(known))}"
            )
        return value

    def text(self, name: str, default: str = "") -> str:
        value = self.get(name, default)
        if not isinstance(value, str) or not value:
            self.complain(f"{name} must be a text, not {value!r}")
            return default
        return value

    def number(self, name: str, *, default: int, low: int, high: int) -> int:
        return self.checked_number(name, self.get(name, default), low=low, high=high)

    def checked_number(self, name: str, value: Any, *, low: int, high: int) -> int:
        digits = str(value)
        number = int(digits) if digits.isascii() and digits.isdecimal() else None
        if number is None or not low <= number <= high:
            self.complain(f"{name} is {value!r}, but must be a whole number from {low} to {high}")
            return low
        return number

    def expect(self, name: str, expected: Any, *, default: Any) -> None:
        value = self.get(name, default)
        if str(value) != str(expected):
            self.complain(f"{name} is {value!r}, but only {expected!r} is supported here")

    def function(self, name: str, reference: Any) -> str:
        """Return the logical id of the function that a name or an ARN refers to."""
        value = self._resolved(name, reference, "")
        match = _FUNCTION_OF_ARN.search(str(value))
        function = match[1] if match else str(value)
        if function and not self.values.is_function(function):
            self.complain(f"{name} is {value!r}, which is not a function of this template")
        return function

    def _resolved(self, name: str, value: Any, default: Any) -> Any:
        try:
            resolved = self.values.resolve(value)
        except Unresolved as unresolved:
            self.complain(f"{name}: {unresolved}")
            return default
        return default if resolved is None or resolved is NO_VALUE else resolved
