"""Lists quarantined records and marks them as handled."""

from functions.gateway.http.answer import Answer, new_router, tell
from functions.gateway.http.auth import caller
from functions.gateway.http.problem import unavailable
from functions.gateway.quarantine import discard_record, read_quarantine, read_record
from taskmill.bootstrap import gateway
from taskmill.core.errors import StoreUnavailable

router = new_router()


@router.get("/v1/quarantine")
def get_quarantine() -> Answer:
    try:
        return tell(read_quarantine(router.current_event.query_string_parameters))
    except StoreUnavailable as error:
        return _away(error)


@router.get("/v1/quarantine/<name>")
def get_record(name: str) -> Answer:
    try:
        return tell(read_record(name))
    except StoreUnavailable as error:
        return _away(error)


@router.post("/v1/quarantine/<name>/discard")
def post_discard(name: str) -> Answer:
    try:
        return tell(discard_record(name, caller(router.current_event, gateway.api_keys())))
    except StoreUnavailable as error:
        return _away(error)


def _away(error: StoreUnavailable) -> Answer:
    return tell(unavailable(f"the quarantine is in the ledger: {error.store} is away", 2))
