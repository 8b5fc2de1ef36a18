"""Issues links to upload payloads that are too large for a request."""

from functions.gateway.http.answer import Answer, json_body, new_router, tell
from functions.gateway.http.problem import Problem
from functions.gateway.payloads import offer_upload

router = new_router()


@router.post("/v1/payloads")
def post_payload() -> Answer:
    body = json_body(router.current_event)
    return tell(body if isinstance(body, Problem) else offer_upload(body))
