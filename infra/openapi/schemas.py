"""Turns the types of requests, responses and payloads into the schemas of the description."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from functions.gateway.description.problems import PROBLEMS
from infra.openapi.plain import plain

_SCHEMAS = "#/components/schemas/"


class Schemas:
    """Turns types into schemas and keeps those that have a name."""

    def __init__(self) -> None:
        self.named: dict[str, Any] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        template = f"{_SCHEMAS}{{name}}"
        (schema,), components = msgspec.json.schema_components([kind], ref_template=template)
        for name, one in components.items():
            if self.named.setdefault(name, one) != one:
                raise ValueError(f"two types of the API are named {name}: rename one")
        return plain(schema)


def one_of(names: Iterable[str]) -> dict[str, Any]:
    """Choose by `type`, which is the last part of each dotted name."""
    ways = {name.partition(".")[2]: f"{_SCHEMAS}{name}" for name in names}
    if len(ways) == 1:
        return {"$ref": next(iter(ways.values()))}
    return {
        "oneOf": [{"$ref": way} for way in ways.values()],
        "discriminator": {"propertyName": "type", "mapping": ways},
    }


def problems(general: Mapping[str, Any]) -> dict[str, Any]:
    """Write out each problem in full: few generators merge a schema with a narrower one."""
    return {
        f"Problem.{name}": {
            **general,
            "description": f"{refusal.meaning}\n\nWhat to do: {refusal.next_step}",
            "properties": {
                **general["properties"],
                "type": {"const": name},
                "status": {"const": int(refusal.status)},
            },
        }
        for name, refusal in PROBLEMS.items()
    }


def either(one: str, other: str) -> dict[str, Any]:
    """Require one of two fields without `oneOf`, which makes generators create extra types."""
    return {
        "if": {"required": [one]},
        "then": {"not": {"required": [other]}},
        "else": {"required": [other]},
    }


def requests(
    kind: str, general: Mapping[str, Any], types: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the request schema of this kind for each type, and the payload schemas."""
    schemas: dict[str, Any] = {}
    for entry in types:
        payload = _payload(entry)
        schemas |= payload
        schemas[f"{kind}.{entry['name']}"] = _request(general, entry, payload)
    names = [f"{kind}.{entry['name']}" for entry in types]
    return schemas | {kind: {"description": general["description"], **one_of(names)}}


def _request(
    general: Mapping[str, Any], entry: Mapping[str, Any], payload: Mapping[str, Any]
) -> dict[str, Any]:
    name, defaults = f"Payload.{entry['name']}", msgspec.to_builtins(entry["defaults"])
    fields = json.loads(json.dumps(general["properties"]))
    fields["type"] = {"const": entry["name"]}
    fields["payload"] = {"$ref": f"{_SCHEMAS}{name}"}
    fields["timeout_seconds"]["maximum"] = entry["longest_timeout_seconds"]
    for field in ("max_attempts", "timeout_seconds", "retry", "priority"):
        fields[field] |= {"default": defaults[field]}
    schema = {**general, "description": entry["title"]}
    schema |= {"properties": fields, "required": ["type"]}
    must_have_one = bool(payload[name].get("required"))
    if "payload_ref" not in fields:
        return schema | ({"required": ["type", "payload"]} if must_have_one else {})
    return schema | _ways(must_have_one=must_have_one)


def _ways(*, must_have_one: bool) -> dict[str, Any]:
    """Allow a payload inline or by reference, never both."""
    if must_have_one:
        return either("payload", "payload_ref")
    return {"not": {"required": ["payload", "payload_ref"]}}


def _payload(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a type's payload and the schemas it refers to, under unique names."""
    root = f"Payload.{entry['name']}"
    text = json.dumps({"schema": entry["schema"], "defs": entry["schema"].get("$defs", {})})
    main = entry["schema"].get("$ref", "").removeprefix("#/$defs/")
    for name in entry["schema"].get("$defs", {}):
        own = root if name == main else f"{root}.{name}"
        text = text.replace(f'"#/$defs/{name}"', f'"{_SCHEMAS}{own}"')
    content = json.loads(text)
    schemas = {f"{root}.{name}": one for name, one in content["defs"].items() if name != main}
    whole = {word: value for word, value in content["schema"].items() if word != "$defs"}
    return schemas | {root: content["defs"][main] if main else whole}
