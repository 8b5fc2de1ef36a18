"""The quarantine over HTTP: shown, and marked as dealt with."""

import re
from base64 import b64encode
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from functions.gateway.http.answer import Answer, Told, new_router, tell
from functions.gateway.http.auth import caller
from functions.gateway.http.cursor import Mark, cursor_behind, mark_of
from functions.gateway.http.page import Line, fitting
from functions.gateway.http.problem import (
    Problem,
    bad_request,
    missing,
    unavailable,
    unknown_parameter,
    unprocessable,
)
from functions.gateway.listing import read_limit
from functions.gateway.presenter import moment
from functions.gateway.stores import stores
from taskmill.core.errors import StoreUnavailable
from taskmill.core.refusal import Dismissal
from taskmill.ledger.quarantine import AfterRecord, OpenedRecord, Place, QuarantinedRecord
from taskmill.platform import process

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
        return tell(discard_record(name, caller(router.current_event, stores().api_keys)))
    except StoreUnavailable as error:
        return _away(error)


def _away(error: StoreUnavailable) -> Answer:
    return tell(unavailable(f"the quarantine is in the ledger: {error.store} is away", 2))


SHOWN_BYTES = 65_536
SHOWN_HEADER_BYTES = 1_024
SHOWN_HEADERS = 10
_KNOWN = {"discarded", "limit", "cursor"}
_NAME = re.compile(r"([A-Za-z0-9._-]{1,249}):([0-9]{1,9}):([0-9]{1,18}):([0-9]{1,9})")


def read_quarantine(given: Mapping[str, str]) -> Told | Problem:
    unknown = unknown_parameter(given, _KNOWN)
    if unknown is not None:
        return unknown
    if given.get("discarded", "false") not in {"true", "false"}:
        return unprocessable("invalid_request", "discarded is true or false", "discarded")
    limit, after = read_limit(given.get("limit")), _after(given)
    if isinstance(limit, Problem):
        return limit
    if isinstance(after, Problem):
        return after
    is_discarded = given.get("discarded") == "true"
    page = stores().quarantine.page(is_discarded=is_discarded, after=after, limit=limit)
    lines = [Line(_shown(one), Mark(one.at_ms, _name(one.place))) for one in page.records]
    behind = Mark(page.next.at_ms, _name(page.next.place)) if page.next else None
    told, mark = fitting(lines, behind=behind)
    cursor = cursor_behind(mark, given) if mark else None
    return Told(HTTPStatus.OK, {"records": told, "next_cursor": cursor})


def read_record(name: str) -> Told | Problem:
    place = _place(name)
    found = stores().quarantine.find(place) if place is not None else None
    if found is None:
        return _nowhere(name)
    return Told(HTTPStatus.OK, _shown(found.record) | _inside(found))


def discard_record(name: str, by: str) -> Told | Problem:
    place = _place(name)
    if place is not None:
        discard = Dismissal(at_ms=process.clock(), by=by)
        record = stores().quarantine.discard(place, discard)
        if record is not None:
            return Told(HTTPStatus.OK, _shown(record))
    return _nowhere(name)


def _nowhere(name: str) -> Problem:
    return missing(f"there is no record {name} in quarantine")


def _after(given: Mapping[str, str]) -> AfterRecord | Problem | None:
    if "cursor" not in given:
        return None
    mark = mark_of(given["cursor"], given)
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


def _shown(record: QuarantinedRecord) -> dict[str, Any]:
    shown: dict[str, Any] = {
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
        shown["discarded_at"] = moment(record.discarded.at_ms)
        shown["discarded_by"] = record.discarded.by
    return shown


def _inside(found: OpenedRecord) -> dict[str, Any]:
    return {
        "value_base64": _beginning(found.value, SHOWN_BYTES),
        "headers_base64": {
            name: _beginning(found.headers[name], SHOWN_HEADER_BYTES)
            for name in found.record.header_names[:SHOWN_HEADERS]
        },
    }


def _beginning(octets: bytes, most: int) -> str:
    return b64encode(octets[:most]).decode()
