"""Writes the errors page from the refusals that the API describes."""

from collections.abc import Mapping
from typing import Any

from functions.gateway.description.problems import ANYWHERE, PROBLEMS, Refusal
from infra.reference.routes import anchor, routes
from infra.reference.text import code, page, table

_ABOUT = """
Every refusal is `application/problem+json`:

| field | meaning |
| --- | --- |
| `type` | a stable word from this page; branch on it |
| `title`, `status` | the HTTP status in words and as a number |
| `detail` | one sentence for people: what is wrong and often the limit or the allowed values |
| `field` | where: a JSON pointer into the body (`/payload/say`) or the name of a parameter |

The inbox and `taskmill.enqueue` use the same types. Repeat a request only after a 503, once
`Retry-After` seconds have passed; every other request is refused again until you change it.

Source: `functions/gateway/description/problems.py`.
"""


def errors(document: Mapping[str, Any]) -> str:
    """Return a section for each refusal with the routes that return it."""
    rows = [[link(name), str(int(problem.status)), problem.meaning] for name, problem in _all()]
    overview = table(["`type`", "status", "meaning"], rows)
    return page("Errors", _ABOUT, overview, *(_section(*one, document) for one in _all()))


def _all() -> list[tuple[str, Refusal]]:
    return sorted(PROBLEMS.items())


def link(name: str, page_name: str = "") -> str:
    return f"[`{name}`]({page_name}#{name})"


def _section(name: str, problem: Refusal, document: Mapping[str, Any]) -> str:
    lines = [
        f"## {name}",
        f"**{int(problem.status)}.** {problem.meaning}",
        f"*What to do:* {problem.next_step}",
        f"*Answered by:* {_places(name, document)}",
    ]
    return "\n\n".join(lines)


def _places(name: str, document: Mapping[str, Any]) -> str:
    if name in ANYWHERE:
        return "any route."
    sources = [route for route in routes(document) if name in route.problems]
    return (
        ", ".join(f"[{code(route.name)}](http.md#{anchor(route.name)})" for route in sources) + "."
    )
