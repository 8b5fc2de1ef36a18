"""What the description tells of a route, as data."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal

from msgspec import Struct, field

from functions.gateway.http.problem import ProblemType


class Parameter(Struct, frozen=True, kw_only=True):
    """A part of the path, of the query or of the head; its type is told as JSON Schema."""

    name: str
    place: Literal["path", "query", "header"]
    type: Any
    what: str


class Answer(Struct, frozen=True, kw_only=True):
    """An answer that is no problem; its body is told by a type."""

    what: str
    body: Any
    has_location: bool = False


class Example(Struct, frozen=True, kw_only=True):
    """A request and its answer; a test sends each to a running system.

    Ids, times and numbers may differ there, and a test may put others in place of ids.
    """

    name: str
    status: HTTPStatus
    answer: Any
    given: Mapping[str, str] = field(default_factory=dict)
    """Parameters by their names."""

    body: Any = None


class Operation(Struct, frozen=True, kw_only=True):
    """A route; what any route may answer is not named again."""

    route: str
    """Method and path, as the function's events spell them."""

    name: str
    summary: str
    details: str = ""
    parameters: Sequence[Parameter] = ()
    takes: Any = None
    answers: Mapping[HTTPStatus, Answer]
    problems: Sequence[ProblemType] = ()
    examples: Sequence[Example] = ()
    is_open: bool = False
    """It asks for no key."""

    @property
    def method(self) -> str:
        return self.route.partition(" ")[0].lower()

    @property
    def path(self) -> str:
        return self.route.partition(" ")[2]
