"""Parameters shared by several routes."""

from typing import Annotated, Any, Final
from uuid import UUID

from msgspec import Meta

from functions.gateway.description.operation import Parameter
from functions.gateway.http.parameters import LARGEST_PAGE, USUAL_PAGE


def query_parameter(name: str, kind: Any, what: str) -> Parameter:
    return Parameter(name=name, place="query", type=kind, what=what)


TASK_ID: Final = Parameter(name="task_id", place="path", type=UUID, what="The id of a task.")
LIMIT: Final = query_parameter(
    "limit",
    Annotated[int, Meta(ge=1, le=LARGEST_PAGE, extra_json_schema={"default": USUAL_PAGE})],
    "Maximum number of entries.",
)
CURSOR: Final = query_parameter(
    "cursor", str, "`next_cursor` of the previous page; the filter must be the same."
)
