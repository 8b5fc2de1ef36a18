"""Shows the quarantine over HTTP, and marks records as dealt with."""

import re
from base64 import b64encode
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from functions.gateway.http.auth import caller
from functions.gateway.http.paging import Line, Mark, mark_of, page_of
from functions.gateway.http.parameters import read_limit
from functions.gateway.http.problem import Problem, bad_request, missing, unprocessable
from functions.gateway.http.routes import ApiRequest, Routes, Success
from functions.gateway.presenter import moment
from taskmill.core.refusal import Dismissal
from taskmill.ledger.quarantine import AfterRecord, OpenedRecord, Place, QuarantinedRecord

routes = Routes("the quarantine is in the ledger")

SHOWN_BYTES = 65_536
SHOWN_HEADER_BYTES = 1_024
SHOWN_HEADERS = 10
_NAME = re.compile(r"([A-Za-z0-9._-]{1,249}):([0-9]{1,9}):([0-9]{1,18}):([0-9]{1,9})")


@routes.get("/v1/quarantine", parameters={"discarded", "limit", "cursor"})
def read_quarantine(request: ApiRequest) -> Success | Problem:
    query = request.query
    if query.get("discarded", "false") not in {"true", "false"}:
        return unprocessable("invalid_request", "discarded must be true or false", "discarded")
    limit, after = read_limit(query.get("limit")), _after(query)
    if isinstance(limit, Problem):
        return limit
    if isinstance(after, Problem):
        return after
    is_discarded = query.get("discarded") == "true"
    page = request.stores.quarantine.page(is_discarded=is_discarded, after=after, limit=limit)
    lines = [Line(_view(one), Mark(one.at_ms, _name(one.place))) for one in page.records]
    rest = Mark(page.next.at_ms, _name(page.next.place)) if page.next else None
    records, cursor = page_of(lines, rest=rest, query=query)
    return Success(HTTPStatus.OK, {"records": records, "next_cursor": cursor})


@routes.get("/v1/quarantine/<name>")
def read_record(request: ApiRequest, name: str) -> Success | Problem:
    place = _place(name)
    entry = request.stores.quarantine.find(place) if place is not None else None
    if entry is None:
        return _nowhere(name)
    return Success(HTTPStatus.OK, _view(entry.record) | _inside(entry))


@routes.post("/v1/quarantine/<name>/discard")
def discard_record(request: ApiRequest, name: str) -> Success | Problem:
    place = _place(name)
    if place is not None:
        discard = Dismissal(at_ms=request.stores.clock(), by=caller(request))
        record = request.stores.quarantine.discard(place, discard)
        if record is not None:
            return Success(HTTPStatus.OK, _view(record))
    return _nowhere(name)


def _nowhere(name: str) -> Problem:
    return missing(f"there is no record {name} in quarantine")


def _after(query: Mapping[str, str]) -> AfterRecord | Problem | None:
    if "cursor" not in query:
        return None
    mark = mark_of(query["cursor"], query)
    if isinstance(mark, Problem):
        return mark
    place = _place(mark.name)
    if place is None:
        return bad_request("the cursor is invalid: start without it")
    return AfterRecord(mark.at_ms, place)


def _place(name: str) -> Place | None:
    parts = _NAME.fullmatch(name)
    if parts is None:
        return None
    topic, partition, offset, member = parts.groups()
    return Place(topic, int(partition), int(offset), int(member))


def _name(place: Place) -> str:
    return f"{place.topic}:{place.partition}:{place.offset}:{place.member}"


def _view(record: QuarantinedRecord) -> dict[str, Any]:
    view: dict[str, Any] = {
        "id": _name(record.place),
        "topic": record.place.topic,
        "partition": record.place.partition,
        "offset": record.place.offset,
        "at": moment(record.at_ms),
        "reason": record.reason,
        "size": record.size,
        "header_names": list(record.header_names[:SHOWN_HEADERS]),
    }
    if record.discarded is not None:
        view["discarded_at"] = moment(record.discarded.at_ms)
        view["discarded_by"] = record.discarded.by
    return view


def _inside(entry: OpenedRecord) -> dict[str, Any]:
    return {
        "value_base64": _beginning(entry.value, SHOWN_BYTES),
        "headers_base64": {
            name: _beginning(entry.headers[name], SHOWN_HEADER_BYTES)
            for name in entry.record.header_names[:SHOWN_HEADERS]
        },
    }


def _beginning(octets: bytes, most: int) -> str:
    return b64encode(octets[:most]).decode()
