"""The description of a route, as data."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal

from msgspec import Struct, field

from functions.gateway.http.problem import ProblemType


class Parameter(Struct, frozen=True, kw_only=True):
    """A path, query or header parameter; its type is a JSON Schema."""

    name: str
    place: Literal["path", "query", "header"]
    type: Any
    what: str


class Answer(Struct, frozen=True, kw_only=True):
    """A successful response; its body is described by a type."""

    what: str
    body: Any
    has_location: bool = False


class Example(Struct, frozen=True, kw_only=True):
    """A request with its response; a test sends each to a running system.

    Ids, times and numbers may differ there, and the test may replace ids.
    """

    name: str
    status: HTTPStatus
    answer: Any
    given: Mapping[str, str] = field(default_factory=dict)
    """Parameters by name."""

    body: Any = None


class Operation(Struct, frozen=True, kw_only=True):
    """One route, without the responses that every route may return."""

    route: str
    """Method and path, written as in the function's events."""

    name: str
    summary: str
    details: str = ""
    parameters: Sequence[Parameter] = ()
    takes: Any = None
    answers: Mapping[HTTPStatus, Answer]
    problems: Sequence[ProblemType] = ()
    examples: Sequence[Example] = ()
    is_open: bool = False
    """The route requires no API key."""

    @property
    def method(self) -> str:
        return self.route.partition(" ")[0].lower()

    @property
    def path(self) -> str:
        return self.route.partition(" ")[2]
