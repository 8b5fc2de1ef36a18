"""Signs requests to S3 with AWS Signature Version 4, without a client library."""

import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from taskmill.settings.access import S3Access

ALGORITHM: Final = "AWS4-HMAC-SHA256"
UNSIGNED: Final = "UNSIGNED-PAYLOAD"
STAMP: Final = "%Y%m%dT%H%M%SZ"


class SignedRequest(Struct, frozen=True, kw_only=True):
    """A request to sign: its path and header names as they are sent."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """The signed headers, by lower-case name."""

    payload: str = UNSIGNED
    """The hash of the body, or the marker for an unsigned one."""

    def signature(self, secret: str, *, stamp: str, scope: str) -> str:
        canonical = "\n".join(
            (
                self.method,
                self.path,
                canonical_query(self.query),
                *(f"{name}:{self.headers[name].strip()}" for name in sorted(self.headers)),
                "",
                signed_names(self.headers),
                self.payload,
            )
        )
        digest = sha256(canonical.encode()).hexdigest()
        key = f"AWS4{secret}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        to_sign = f"{ALGORITHM}\n{stamp}\n{scope}\n{digest}"
        return hmac.digest(key, to_sign.encode(), "sha256").hex()


def canonical_query(query: Mapping[str, str]) -> str:
    return "&".join(f"{_quoted(name)}={_quoted(query[name])}" for name in sorted(query))


def signed_names(headers: Mapping[str, str]) -> str:
    return ";".join(sorted(headers))


def link(  # noqa: PLR0913 - the restrictions of a link, all named
    access: S3Access,
    method: str,
    key: str,
    *,
    now: datetime,
    lives: timedelta,
    headers: Mapping[str, str] | None = None,
) -> str:
    """Return a URL that lets its holder send this request, with these headers, for a while."""
    base, path = access.place(quote(key, safe="/-_.~"))
    stamp = now.strftime(STAMP)
    scope = f"{stamp[:8]}/{access.region}/s3/aws4_request"
    named = {name.lower(): value for name, value in (headers or {}).items()}
    named["host"] = base.partition("://")[2]
    query = {
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{access.credentials.username}/{scope}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(lives // timedelta(seconds=1)),
        "X-Amz-SignedHeaders": signed_names(named),
    }
    if access.token:
        query["X-Amz-Security-Token"] = access.token
    request = SignedRequest(method=method, path=path, query=query, headers=named)
    signature = request.signature(access.credentials.password, stamp=stamp, scope=scope)
    return f"{base}{path}?{canonical_query(query)}&X-Amz-Signature={signature}"


def _quoted(text: str) -> str:
    return quote(text, safe="-_.~")
