"""Shows the deployed types."""

from http import HTTPStatus

from functions.gateway.http.answer import Answer, Told, new_router, tell
from functions.gateway.presenter import type_as_json
from taskmill.bootstrap import gateway

router = new_router()


@router.get("/v1/types")
def get_types() -> Answer:
    entries = gateway.services().catalogue.entries()
    return tell(Told(HTTPStatus.OK, {"types": [type_as_json(entry) for entry in entries]}))
