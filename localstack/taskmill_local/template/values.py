"""Resolves the intrinsic functions of an expanded template, for requested values only."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from taskmill_local.template import known
from taskmill_local.template.refusal import Unresolved

PSEUDO_PARAMETERS: Mapping[str, str] = {
    "AWS::Region": "local",
    "AWS::AccountId": "000000000000",
    "AWS::Partition": "aws",
    "AWS::StackName": "taskmill",
    "AWS::StackId": "arn:aws:cloudformation:local:000000000000:stack/taskmill/local",
    "AWS::URLSuffix": "amazonaws.com",
}


class _NoValue:
    """Stands for ``AWS::NoValue``: the property or list entry does not exist."""


NO_VALUE: Final = _NoValue()
# Resources that may be referred to by name; a secret or an API is only a name here.
_REFERRED_TO: Final = frozenset({known.FUNCTION, known.SECRET, known.API})
_REFERENCE = re.compile(r"\$\{(!?)([^}]*)\}")
_DYNAMIC = re.compile(r"\{\{resolve:[^}]*\}\}")


def function_arn(name: str) -> str:
    return f"arn:aws:lambda:local:000000000000:function:{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """The template's names and their values here; most resources have none."""

    parameters: Mapping[str, Any]
    conditions: Mapping[str, Any]
    mappings: Mapping[str, Any]
    resources: Mapping[str, Any]

    def resolve(self, value: Any) -> Any:
        """Return the plain value, or raise ``Unresolved``."""
        if isinstance(value, list):
            entries = [self.resolve(entry) for entry in value]
            return [entry for entry in entries if entry is not NO_VALUE]
        if isinstance(value, str) and (dynamic := _DYNAMIC.search(value)):
            raise Unresolved(f"{dynamic[0]} has no value here; take it from a parameter instead")
        if not isinstance(value, dict):
            return value
        if intrinsic := _intrinsic_of(value):
            return self._call(intrinsic, value[intrinsic])
        entries_of = {key: self.resolve(entry) for key, entry in value.items()}
        return {key: entry for key, entry in entries_of.items() if entry is not NO_VALUE}

    def holds(self, condition: str) -> bool:
        if condition not in self.conditions:
            raise Unresolved(f"there is no condition {condition}")
        return bool(self.resolve(self.conditions[condition]))

    def _call(self, intrinsic: str, argument: Any) -> Any:
        function = _FUNCTIONS.get(intrinsic)
        if function is None:
            known = ", ".join(sorted(_FUNCTIONS))
            raise Unresolved(f"the function {intrinsic} is not supported; supported: {known}")
        try:
            return function(self, argument)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise Unresolved(f"{intrinsic} has an invalid argument: {argument!r}") from error

    def reference(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return NO_VALUE
        if name in PSEUDO_PARAMETERS:
            return PSEUDO_PARAMETERS[name]
        if name in self.parameters:
            return self.parameters[name]
        if self._kind(name) in _REFERRED_TO:
            return name
        if self._kind(name) == known.BUCKET:
            return name.lower()  # in S3's spelling
        raise Unresolved(
            f"{name} has no value here: it is not a parameter, function, API, secret or bucket"
        )

    def attribute(self, resource: str, attribute: str) -> str:
        if attribute == "Arn" and self.is_function(resource):
            return function_arn(resource)
        raise Unresolved(
            f"{resource}.{attribute} has no value here, only the Arn of a function has one"
        )

    def is_function(self, name: str) -> bool:
        return self._kind(name) == known.FUNCTION

    def _kind(self, name: str) -> str:
        return str((self.resources.get(name) or {}).get("Type"))


def _intrinsic_of(value: Mapping[str, Any]) -> str | None:
    if len(value) != 1:
        return None
    (key,) = value
    is_intrinsic = isinstance(key, str) and (key in {"Ref", "Condition"} or key.startswith("Fn::"))
    return key if is_intrinsic else None


def _sub(values: Values, argument: Any) -> str:
    text, own = argument if isinstance(argument, list) else (argument, {})
    names = {name: values.resolve(entry) for name, entry in own.items()}

    def fill(match: re.Match[str]) -> str:
        is_literal, name = match[1], match[2].strip()
        if is_literal:
            return f"${{{match[2]}}}"
        if name in names:
            return str(names[name])
        if "." in name:
            return values.attribute(*name.split(".", 1))
        return str(values.reference(name))

    return str(values.resolve(_REFERENCE.sub(fill, text)))


def _join(values: Values, argument: Any) -> str:
    separator, entries = argument
    return str(separator).join(str(entry) for entry in values.resolve(entries))


def _split(values: Values, argument: Any) -> list[str]:
    separator, text = argument
    return str(values.resolve(text)).split(separator)


def _select(values: Values, argument: Any) -> Any:
    index, entries = argument
    return values.resolve(entries)[int(values.resolve(index))]


def _if(values: Values, argument: Any) -> Any:
    condition, then, otherwise = argument
    return values.resolve(then if values.holds(condition) else otherwise)


def _equals(values: Values, argument: Any) -> bool:
    left, right = (values.resolve(side) for side in argument)
    return str(left) == str(right)


def _not(values: Values, argument: Any) -> bool:
    (condition,) = argument
    return not values.resolve(condition)


def _find_in_map(values: Values, argument: Any) -> Any:
    name, first, second = (values.resolve(key) for key in argument)
    return values.mappings[name][first][second]


_Function: TypeAlias = Callable[[Values, Any], Any]
_FUNCTIONS: Mapping[str, _Function] = {
    "Condition": lambda values, name: values.holds(name),
    "Fn::And": lambda values, sides: all(values.resolve(side) for side in sides),
    "Fn::Equals": _equals,
    "Fn::FindInMap": _find_in_map,
    "Fn::GetAtt": lambda values, path: values.attribute(*path),
    "Fn::If": _if,
    "Fn::Join": _join,
    "Fn::Not": _not,
    "Fn::Or": lambda values, sides: any(values.resolve(side) for side in sides),
    "Fn::Select": _select,
    "Fn::Split": _split,
    "Fn::Sub": _sub,
    "Ref": lambda values, name: values.reference(name),
}
