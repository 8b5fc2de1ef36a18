"""The routes of the API description in the form that the reference pages need."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_PROBLEM = re.compile(r"#/components/(?:schemas/Problem\.|responses/)(\w+)")


@dataclass(frozen=True, slots=True)
class Route:
    """One operation; `name` is its method and path."""

    name: str
    operation: Mapping[str, Any]

    @property
    def problems(self) -> list[str]:
        """Return the types of the refusals that the operation names."""
        text = repr(self.operation["responses"])
        return sorted(set(_PROBLEM.findall(text)))


def routes(document: Mapping[str, Any]) -> Iterator[Route]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield Route(f"{method.upper()} {path}", operation)


def anchor(heading: str) -> str:
    """Return the anchor that code hosts and site builders give a heading."""
    text = re.sub(r"[^\w\- ]", "", heading.lower())
    return text.replace(" ", "-")
