"""Shows what was enqueued and is no task."""

from functions.gateway.enqueued import list_enqueued
from functions.gateway.http.answer import Answer, new_router, tell
from functions.gateway.http.problem import unavailable
from taskmill.core.errors import StoreUnavailable

router = new_router()


@router.get("/v1/enqueued")
def get_enqueued() -> Answer:
    try:
        return tell(list_enqueued(router.current_event.query_string_parameters))
    except StoreUnavailable as error:
        return tell(unavailable(f"what was enqueued is in the ledger: {error.store} is away", 2))
