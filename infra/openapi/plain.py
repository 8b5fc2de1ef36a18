"""Writes schemas with the keywords that client generators understand."""

import json
import re
from collections.abc import Mapping
from inspect import cleandoc
from typing import Any, Final

_FORMATS: Final = {"integer": "int64", "number": "double"}
_TYPES: Final = {bool: "boolean", int: "integer", float: "number", str: "string"}
_OF_ONE: Final = frozenset({"items", "additionalProperties", "propertyNames", "not"})
_OF_SEVERAL: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_BY_NAME: Final = frozenset({"properties", "patternProperties", "$defs"})
_WORD: Final = re.compile(r"[^A-Za-z0-9]+")


def plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return *schema* with a type for every value and a format for every number.

    Defaults become prose: a generated client would send them with each request, and when a later
    deployment changes a default, a repeated request would differ from the first.
    """
    result = {word: _within(word, value) for word, value in schema.items()}
    if (kind := _type_of(result)) is not None:
        result["type"] = kind
    if result.get("enum") in ([True], [False]):  # few generators support lists of booleans
        result["const"] = result.pop("enum")[0]
    if isinstance(result.get("type"), str) and result["type"] in _FORMATS:
        result.setdefault("format", _FORMATS[result["type"]])
    if "default" in result:
        result |= _in_words(result, result.pop("default"))
    return result


def titled(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema under a title that no other schema has: generators name types by it."""
    words = _WORD.split(name)
    return {"title": "".join(word[:1].upper() + word[1:] for word in words), **_untitled(schema)}


def _untitled(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {word: value for word, value in schema.items() if word != "title"}


def _within(word: str, value: Any) -> Any:
    if word in _OF_ONE and isinstance(value, dict):
        return plain(value)
    if word in _OF_SEVERAL:
        return [plain(one) for one in value]
    if word in _BY_NAME:
        return {name: plain(one) for name, one in value.items()}
    if word == "description":
        return cleandoc(value)  # a docstring is indented before Python 3.13
    return value


def _type_of(schema: Mapping[str, Any]) -> str | None:
    if "type" in schema or not ("enum" in schema or "const" in schema):
        return None
    values = schema["enum"] if "enum" in schema else [schema["const"]]
    kinds = {_TYPES[type(value)] for value in values}
    return kinds.pop() if len(kinds) == 1 else None


def _in_words(schema: Mapping[str, Any], default: Any) -> dict[str, Any]:
    if default is None:
        return {}
    default_text = f"By default `{json.dumps(default, ensure_ascii=False)}`."
    text = schema.get("description", "")
    stop = "" if not text or text.endswith((".", "!", "?")) else "."
    return {"description": f"{text}{stop} {default_text}".strip()}
