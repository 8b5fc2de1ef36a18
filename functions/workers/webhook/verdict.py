"""Maps a response to the task's outcome, by its status and `Retry-After`."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final

from msgspec import Struct

from functions.workers.webhook.answer import Body, Head
from taskmill.egress.ssrf_guard import Target
from taskmill.worker import Discard, Outcome, Retry, Succeeded

SOONEST: Final = timedelta(seconds=1)
LATEST: Final = timedelta(hours=1)

_QUOTED: Final = 300
_TRIED_AGAIN: Final = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
)
_MOVED_FOR_GOOD: Final = (HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.PERMANENT_REDIRECT)
_SECONDS = re.compile(r"[0-9]+", re.ASCII)
_MOST_DIGITS: Final = 9


class Judged(Struct, frozen=True):
    outcome: Outcome
    word: str
    """The label under which it is counted."""


def judged(target: Target, head: Head, body: Body, *, now: datetime) -> Judged:
    status = head.status
    text = _text_of(body)
    reason = f"{target.host} answered {status}" + (f": {text[:_QUOTED]}" if text else "")
    if 200 <= status < 300:  # noqa: PLR2004 - HTTP's own
        return Judged(Succeeded(_result(target, head, body, text)), "delivered")
    if status == HTTPStatus.GONE:
        return Judged(Discard(f"{reason} and is not called again; it is disabled"), "gone")
    if status >= 500 or status in _TRIED_AGAIN:  # noqa: PLR2004 - HTTP's own
        return Judged(Retry(reason, wanted_wait(head.one("retry-after"), now)), "busy")
    if status < 400:  # noqa: PLR2004 - HTTP's own
        return Judged(_redirected(target, status), "redirected")
    return Judged(Discard(reason), "refused")


def _redirected(target: Target, status: int) -> Outcome:
    why = f"{target.host} answered {status}, and redirects are not followed"
    if status in _MOVED_FOR_GOOD:
        return Discard(f"{why}: send to where it moved")
    return Retry(why)


def wanted_wait(text: str, now: datetime) -> timedelta | None:
    """Read Retry-After, as seconds or a date, clamped to the limits."""
    if _SECONDS.fullmatch(text):
        wait = timedelta(seconds=int(text)) if len(text) <= _MOST_DIGITS else LATEST
    else:
        try:
            date = parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return None
        wait = (date if date.tzinfo else date.replace(tzinfo=UTC)) - now
    return min(max(wait, SOONEST), LATEST)


def _result(target: Target, head: Head, body: Body, text: str) -> dict[str, Any]:
    return {
        "host": target.host,
        "status": head.status,
        "content_type": head.one("content-type")[:255].replace("\0", ""),
        "body": text,
        "is_cut": body.is_cut,
    }


def _text_of(body: Body) -> str:
    """Return text that a result can hold: without NUL."""
    return body.octets.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
