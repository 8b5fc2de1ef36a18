"""Queue depths, waits and throughput."""

from http import HTTPStatus

from functions.gateway.http.answer import Answer, Told, new_router, tell
from functions.gateway.http.problem import unavailable
from functions.gateway.statistics import statistics_as_json
from taskmill.bootstrap import oversight
from taskmill.core.errors import StoreUnavailable

router = new_router()


@router.get("/v1/stats")
def get_stats() -> Answer:
    try:
        told = oversight.statistics().look()
    except StoreUnavailable as error:
        return tell(unavailable(f"statistics need Kafka and the ledger: {error.store} is away", 2))
    return tell(Told(HTTPStatus.OK, statistics_as_json(told)))
