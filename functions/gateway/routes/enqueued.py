"""Lists enqueued requests that are not tasks and marks them as handled."""

from functions.gateway.enqueued import discard_enqueued, list_enqueued
from functions.gateway.http.answer import Answer, new_router, tell
from functions.gateway.http.auth import caller
from functions.gateway.http.problem import unavailable
from taskmill.bootstrap import gateway
from taskmill.core.errors import StoreUnavailable

router = new_router()


@router.get("/v1/enqueued")
def get_enqueued() -> Answer:
    try:
        return tell(list_enqueued(router.current_event.query_string_parameters))
    except StoreUnavailable as error:
        return _away(error)


@router.post("/v1/enqueued/<task_id>/discard")
def post_discard_enqueued(task_id: str) -> Answer:
    try:
        return tell(discard_enqueued(task_id, caller(router.current_event, gateway.api_keys())))
    except StoreUnavailable as error:
        return _away(error)


def _away(error: StoreUnavailable) -> Answer:
    return tell(unavailable(f"what was enqueued is in the ledger: {error.store} is away", 2))
