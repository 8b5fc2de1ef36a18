"""Writes the API's own description, OpenAPI 3.1, from the types that read its requests."""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from functions.gateway.description.every import OPERATIONS
from functions.gateway.description.operation import Example, Operation, Parameter
from functions.gateway.description.problems import ANYWHERE, PROBLEMS
from functions.gateway.http.problem import PROBLEM_JSON, ProblemType
from infra.openapi.plain import plain, titled
from infra.openapi.schemas import Schemas, either, one_of, problems, requests

JSON = "application/json"
_ABOUT = """\
Submit tasks, follow them to their end, and find out why each ended as it did.

Bodies are strict JSON in UTF-8: no duplicate keys, no NaN, at most 32 levels.
Unknown fields are refused. Responses may gain fields: ignore those that you do not
know. Times are RFC 3339 with a zone; integers have no decimal point.

A refusal is `application/problem+json`; its `type` is stable and is documented with the next
to do next. Repeat a 503 after `Retry-After` seconds.

An unknown path gets 404, and a method that a path does not support gets 405 with `Allow`.
never reaches this API is answered in front of it, as `{"message": …}`: 413 for a body beyond what
the platform carries, 500 and 503 of its own.
"""


def document(types: Sequence[Mapping[str, Any]], routes: Container[str] | None = None) -> str:
    """Return the description of an API that takes tasks of these types of the catalogue.

    Only *routes* are described; all that there are, where none are named.
    """
    schemas = Schemas()
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        if routes is not None and operation.route not in routes:
            continue
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation, schemas)
    components = schemas.named | problems(schemas.named["Problem"])
    for name in ("TaskRequest", "ScheduledTask"):
        components |= requests(name, schemas.named[name], types)
    for name in ("NewSchedule", "RevisedSchedule"):
        components[name] |= either("cron", "every_seconds")
    components["ChangeRequest"] |= {"minProperties": 1}
    description = {
        "openapi": "3.1.0",
        "info": {"title": "taskmill", "version": "1", "description": _ABOUT},
        "servers": [{"url": "/", "description": "The project that this API belongs to."}],
        "security": [{"bearer": []}, {"header": []}],
        "paths": paths,
        "components": {
            "schemas": {name: titled(name, plain(one)) for name, one in sorted(components.items())},
            "responses": {
                name: _refusal_in_full(refusal.status, [name], {})
                for name, refusal in PROBLEMS.items()
            },
            "headers": _HEADERS,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "header": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
            },
        },
    }
    return json.dumps(description, indent=2, ensure_ascii=False) + "\n"


_HEADERS = {
    "Allow": {
        "description": "The methods that the path supports.",
        "required": True,
        "schema": {"type": "string"},
    },
    "Location": {
        "description": "URL of the task.",
        "required": True,
        "schema": {"type": "string"},
    },
    "Retry-After": {
        "description": "Seconds to wait, with a little jitter.",
        "required": True,
        "schema": {"type": "integer", "format": "int64", "minimum": 1},
    },
    "WWW-Authenticate": {
        "description": "The authentication scheme to use.",
        "required": True,
        "schema": {"type": "string", "const": "Bearer"},
    },
    "X-Request-Id": {
        "description": "Identifies the request in the server's logs.",
        "required": True,
        "schema": {"type": "string"},
    },
}


def _operation(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    description: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [_tag(operation)],
    }
    if operation.details:
        description["description"] = operation.details
    if operation.is_open:
        description["security"] = []
    if operation.parameters:
        description["parameters"] = [
            _parameter(one, operation, schemas) for one in operation.parameters
        ]
    if operation.takes is not None:
        description["requestBody"] = _body(operation, schemas)
    description["responses"] = _answers(operation, schemas) | _refusals(operation)
    return description


def _tag(operation: Operation) -> str:
    _, version, *rest = operation.path.split("/")
    return rest[0] if version == "v1" else "service"


def _parameter(parameter: Parameter, operation: Operation, schemas: Schemas) -> dict[str, Any]:
    schema = schemas.of(parameter.type)
    examples = {
        _key(example): {"value": _value(example.given[parameter.name], schema)}
        for example in operation.examples
        if parameter.name in example.given
    }
    return {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.what,
        **({"required": True} if parameter.place == "path" else {}),
        "schema": schema,
        **({"examples": examples} if examples else {}),
    }


def _value(text: str, schema: Mapping[str, Any]) -> Any:
    """Decode an example that is sent as text into the value it represents."""
    return json.loads(text) if schema.get("type") in {"integer", "number", "boolean"} else text


def _body(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    examples = {
        _key(example): {"summary": example.name, "value": example.body}
        for example in operation.examples
    }
    content = {"schema": schemas.of(operation.takes), "examples": examples}
    return {"required": True, "content": {JSON: content}}


def _answers(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    return {
        str(int(status)): {
            "description": answer.what,
            "headers": _headers("X-Request-Id", *(["Location"] if answer.has_location else [])),
            "content": {
                JSON: {"schema": schemas.of(answer.body), **_examples(operation.examples, status)}
            },
        }
        for status, answer in operation.answers.items()
    }


def _refusals(operation: Operation) -> dict[str, Any]:
    by_status: dict[HTTPStatus, list[ProblemType]] = {}
    for problem in refusals_of(operation):
        by_status.setdefault(PROBLEMS[problem].status, []).append(problem)
    return {
        str(int(status)): _refusal(status, problems, _examples(operation.examples, status))
        for status, problems in sorted(by_status.items())
    }


def _refusal(
    status: HTTPStatus, problems: Sequence[ProblemType], examples: Mapping[str, Any]
) -> dict[str, Any]:
    if len(problems) == 1 and not examples:
        return {"$ref": f"#/components/responses/{problems[0]}"}
    return _refusal_in_full(status, problems, examples)


def _refusal_in_full(
    status: HTTPStatus, problems: Sequence[ProblemType], examples: Mapping[str, Any]
) -> dict[str, Any]:
    schema = one_of(f"Problem.{problem}" for problem in problems)
    return {
        "description": " ".join(PROBLEMS[problem].meaning for problem in problems),
        "headers": _headers("X-Request-Id", *_EXTRA_HEADERS.get(status, ())),
        "content": {PROBLEM_JSON: {"schema": schema, **examples}},
    }


def refusals_of(operation: Operation) -> list[ProblemType]:
    anywhere = [one for one in ANYWHERE if not (operation.is_open and one == "unauthorized")]
    return [*operation.problems, *anywhere]


_EXTRA_HEADERS = {
    HTTPStatus.METHOD_NOT_ALLOWED: ("Allow",),
    HTTPStatus.UNAUTHORIZED: ("WWW-Authenticate",),
    HTTPStatus.SERVICE_UNAVAILABLE: ("Retry-After",),
}


def _headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _examples(examples: Iterable[Example], status: HTTPStatus) -> dict[str, Any]:
    values = {
        _key(one): {"summary": one.name, "value": one.answer}
        for one in examples
        if one.status is status
    }
    return {"examples": values} if values else {}


def _key(example: Example) -> str:
    return example.name.replace(",", "").replace(" ", "-")
