"""Health, readiness, the deployed types, and the API's own description."""

from functools import cache, lru_cache
from http import HTTPStatus
from pathlib import Path

from aws_lambda_powertools.event_handler import Response, content_types

from functions.gateway.http.answer import Answer, Told, new_router, tell
from functions.gateway.http.problem import unavailable
from functions.gateway.presenter import type_as_json
from functions.gateway.stores import stores
from taskmill import __version__
from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import TaskId
from taskmill.recovery.readiness import Readiness
from taskmill.stores.stores import Stores

router = new_router()
_NOBODY = TaskId("00000000-0000-7000-8000-000000000000")


@router.get("/healthz")
def get_health() -> Answer:
    return tell(Told(HTTPStatus.OK, {"status": "ok", "version": __version__}))


@router.get("/readyz")
def get_readiness() -> Answer:
    bound = stores()
    try:
        bound.records.read([_NOBODY])
        bound.log_ends.ends()
        bound.ledger_rows.applied()
        complaint = _readiness(bound).complaint()
    except StoreUnavailable as error:
        return tell(unavailable(f"{error.store} cannot be reached", 2))
    if complaint is not None:
        return tell(unavailable(complaint, 2))
    return tell(Told(HTTPStatus.OK, {"status": "ready"}))


@lru_cache(maxsize=1)
def _readiness(bound: Stores) -> Readiness:
    """Keep what remembers since when shards are cold."""
    return Readiness(bound.health, bound.clock)


@router.get("/v1/types")
def get_types() -> Answer:
    entries = stores().catalogue.entries()
    return tell(Told(HTTPStatus.OK, {"types": [type_as_json(entry) for entry in entries]}))


@router.get("/openapi.json")
def get_description() -> Answer:
    return Response(HTTPStatus.OK, content_types.APPLICATION_JSON, description())


@cache
def description() -> str:
    return Path(__file__).with_name("openapi.json").read_text()
