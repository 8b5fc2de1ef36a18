"""Parameters that several routes have."""

from typing import Annotated, Any, Final

from msgspec import Meta

from functions.gateway.description.operation import Parameter
from functions.gateway.listing import LARGEST_PAGE, USUAL_PAGE


def asked(name: str, kind: Any, what: str) -> Parameter:
    return Parameter(name=name, place="query", type=kind, what=what)


TASK_ID: Final = Parameter(name="task_id", place="path", type=str, what="The id of a task.")
LIMIT: Final = asked(
    "limit",
    Annotated[int, Meta(ge=1, extra_json_schema={"default": USUAL_PAGE})],
    f"How many at most; more than {LARGEST_PAGE} are {LARGEST_PAGE}.",
)
CURSOR: Final = asked("cursor", str, "`next_cursor` of the page before, with the same filter.")
