"""Health and readiness checks."""

from http import HTTPStatus

from functions.gateway.http.answer import Answer, Told, new_router, tell
from functions.gateway.http.problem import unavailable
from taskmill import __version__
from taskmill.bootstrap import gateway
from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import TaskId

router = new_router()
_NOBODY = TaskId("00000000-0000-7000-8000-000000000000")


@router.get("/healthz")
def get_health() -> Answer:
    return tell(Told(HTTPStatus.OK, {"status": "ok", "version": __version__}))


@router.get("/readyz")
def get_readiness() -> Answer:
    services = gateway.services()
    try:
        services.records.read([_NOBODY])
        services.log_ends.ends()
        gateway.ledger_rows().applied()
        complaint = gateway.readiness().complaint()
    except StoreUnavailable as error:
        return tell(unavailable(f"{error.store} cannot be reached", 2))
    if complaint is not None:
        return tell(unavailable(complaint, 2))
    return tell(Told(HTTPStatus.OK, {"status": "ready"}))
