"""Checks responses of the gateway against the API description."""

import json
import re
from copy import deepcopy
from functools import cache
from pathlib import Path

import jsonschema_rs

GATEWAY = Path(__file__).parents[3] / "functions/gateway"
DOCUMENT = json.loads((GATEWAY / "openapi.json").read_text())
ROUTES = re.compile(r'@routes\.(\w+)\(\s*"([^"]+)"')
# What the door answers before any route is looked for, and where there is none.
BEFORE_ANY_ROUTE = {401, 403, 404, 405}


def operations():
    """Return every operation of the description by its route, in its order."""
    return {
        f"{method.upper()} {path}": operation
        for path, result in DOCUMENT["paths"].items()
        for method, operation in result.items()
    }


def answered():
    """Return the routes of the code, each with its module."""
    return {
        f"{method.upper()} {path.replace('<', '{').replace('>', '}')}": module.stem
        for module in GATEWAY.glob("*.py")
        for method, path in ROUTES.findall(module.read_text())
    }


def check(method, path, status, headers, text):
    """Fail if a response differs from its description, or contains more."""
    route = route_of(method, path)
    if route is None:
        assert status in BEFORE_ANY_ROUTE
        return
    result = response(route, status)
    assert result is not None, f"{route} does not say that it may answer {status}"
    media = headers["Content-Type"]
    assert media in result["content"], f"{route} does not say that {status} is {media}"
    wanted = {name for name, one in result["headers"].items() if resolved(one).get("required")}
    assert wanted <= set(headers), f"{route} {status} has not the headers {wanted}"
    complaints = [
        f"{'/'.join(map(str, error.instance_path))}: {error.message}"
        for error in validator(route, status, media).iter_errors(json.loads(text))
    ]
    assert complaints == [], f"{route} {status}"


def route_of(method, path):
    routes = [route for route in operations() if is_of(route, method, path)]
    return min(routes, key=lambda route: route.count("{"), default=None)


def is_of(route, method, path):
    known, pattern = route.split(" ")
    regex = re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(pattern))
    return known == method and re.fullmatch(regex, path) is not None


def response(route, status):
    result = operations()[route]["responses"].get(str(status))
    return result and resolved(result)


def resolved(result):
    """Follow a reference, if there is one."""
    if "$ref" not in result:
        return result
    found = DOCUMENT
    for step in result["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return found


@cache
def validator(route, status, media):
    schema = response(route, status)["content"][media]["schema"]
    whole = {"components": closed(DOCUMENT["components"]), "allOf": [closed(schema)]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


def closed(schema):
    """Return *schema* without additional properties."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return deepcopy(schema)
    result = {name: closed(one) for name, one in schema.items()}
    is_whole = result.get("type") == "object" and "allOf" not in result
    if is_whole and isinstance(result.get("properties"), dict):
        result.setdefault("additionalProperties", False)
    return result
