"""A template in the form that the rules need: plain CloudFormation, resources by type."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FUNCTION = "AWS::Lambda::Function"
LOG_GROUP = "AWS::Logs::LogGroup"
MANAGED_POLICY = "AWS::IAM::ManagedPolicy"
MAPPING = "AWS::Lambda::EventSourceMapping"
PERMISSION = "AWS::Lambda::Permission"
POLICY = "AWS::IAM::Policy"
ROLE = "AWS::IAM::Role"
SECRET = "AWS::SecretsManager::Secret"  # noqa: S105 - a resource type
TOPIC = "AWS::MSK::Topic"

_WORKERS = "functions.workers."


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    body: Mapping[str, Any]

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.body.get("Parameters") or {}

    @property
    def resources(self) -> Mapping[str, Any]:
        return self.body.get("Resources") or {}

    def of(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the name and properties of each resource of a type."""
        for name, resource in self.resources.items():
            if resource["Type"] == kind:
                yield name, resource.get("Properties") or {}

    def properties(self, name: str | None) -> Mapping[str, Any]:
        return (self.resources.get(name or "") or {}).get("Properties") or {}

    def after(self, name: str) -> list[str]:
        """Return the resources that are deployed before this one."""
        return as_list((self.resources.get(name) or {}).get("DependsOn") or [])

    def is_a(self, name: str | None, kind: str) -> bool:
        return (self.resources.get(name or "") or {}).get("Type") == kind

    def mapped(self) -> set[str]:
        """Return the functions that a mapping feeds."""
        return {target(mapping.get("FunctionName")) or "" for _, mapping in self.of(MAPPING)}


def target(value: Any) -> str | None:
    """Return the resource that an expression refers to."""
    match value:
        case {"Ref": str(name)}:
            return name
        case {"Fn::GetAtt": [str(name), *_]}:
            return name
        case {"Fn::GetAtt": str(path)}:
            return path.split(".", maxsplit=1)[0]
        case _:
            return None


def references(value: Any) -> Iterator[str]:
    """Yield everything that an expression refers to, however deeply nested."""
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": str(name)}:
            yield name
        case {"Fn::GetAtt": [*path]}:
            yield ".".join(map(str, path))
        case dict():
            for inner in value.values():
                yield from references(inner)
        case list():
            for inner in value:
                yield from references(inner)
        case _:  # a text or a number refers to nothing
            return


def environment_of(function: Mapping[str, Any]) -> Mapping[str, Any]:
    return (function.get("Environment") or {}).get("Variables") or {}


def is_worker(function: Mapping[str, Any]) -> bool:
    return str(function.get("Handler")).startswith(_WORKERS)


def is_ours(function: Mapping[str, Any]) -> bool:
    """Distinguish the functions of our folders from those that only help to create a stack."""
    return str(function.get("Handler")).startswith("functions.")


def worker_of(function: Mapping[str, Any]) -> str | None:
    """Return the type whose tasks a function runs."""
    own = str(function.get("Handler"))
    return own.removeprefix(_WORKERS).split(".")[0] if is_worker(function) else None


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def text_of(value: Any) -> str:
    """Return an expression as text: its literal parts and the names it uses."""
    match value:
        case str():
            return value
        case {"Fn::Sub": [str(text), *_]} | {"Fn::Sub": str(text)}:
            return text
        case _:
            return json.dumps(value)


def literals(value: Any) -> Iterator[str]:
    """Yield every text anywhere in a value."""
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from literals(inner)
        case list():
            for inner in value:
                yield from literals(inner)
        case _:  # numbers and the like hold no text
            return


PASSWORD_IN_URL = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
