"""Lists disabled webhook endpoints and enables them."""

from collections.abc import Callable

from functions.gateway.endpoints import enable_endpoint, list_disabled
from functions.gateway.http.answer import Answer, Told, json_body, new_router, tell
from functions.gateway.http.problem import Problem, unavailable
from taskmill.core.errors import StoreUnavailable

router = new_router()


@router.get("/v1/endpoints/disabled")
def get_disabled() -> Answer:
    return _told(lambda: list_disabled(router.current_event.query_string_parameters))


@router.post("/v1/endpoints/enable")
def post_enable() -> Answer:
    body = json_body(router.current_event)
    return tell(body) if isinstance(body, Problem) else _told(lambda: enable_endpoint(body))


def _told(call: Callable[[], Told | Problem]) -> Answer:
    try:
        return tell(call())
    except StoreUnavailable as error:
        return tell(unavailable(f"disabled endpoints are in Redis: {error.store} is away", 2))
