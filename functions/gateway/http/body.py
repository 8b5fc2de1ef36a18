"""Decodes the JSON body of a request as the type that a route takes."""

from typing import TypeVar

import msgspec

from functions.gateway.http.problem import Problem, problem_of
from taskmill.core.refusal import Refusal
from taskmill.submission.read import misfit, read_value

T = TypeVar("T")


def read_as(kind: type[T], body: bytes) -> T | Problem:
    """Return *body* as *kind*, or a problem that points at the invalid place."""
    value = read_value(body)
    if isinstance(value, Refusal):
        return problem_of(value)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return problem_of(misfit(str(error)))
