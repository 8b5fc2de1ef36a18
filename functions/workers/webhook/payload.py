"""The payload of `webhook`: target, content and the name of the signing secret."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from taskmill.egress.formats import (
    HEADER_VALUE,
    WEBHOOK_HEADER,
    WEBHOOK_URL,
    wrong_header_name,
    wrong_header_value,
)

HEADERS_LIMIT = 8_192

_Url = Annotated[str, Meta(extra_json_schema={"format": WEBHOOK_URL})]
_Name = Annotated[str, Meta(extra_json_schema={"format": WEBHOOK_HEADER})]
_Value = Annotated[str, Meta(max_length=4_096, extra_json_schema={"format": HEADER_VALUE})]


class Webhook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text is sent unchanged, any other body as JSON."""

    url: _Url
    secret: Annotated[str, Meta(pattern="^[A-Za-z0-9._-]{1,100}$")]
    """The name of the endpoint's signing secrets."""

    method: Literal["POST", "PUT", "PATCH", "DELETE", "GET"] = "POST"
    headers: Annotated[dict[_Name, _Value], Meta(max_length=50)] = {}
    body: Raw | UnsetType = UNSET

    def __post_init__(self) -> None:
        for name, value in self.headers.items():
            if wrong := wrong_header_name(name) or wrong_header_value(value):
                raise ValueError(wrong)
        if len({name.lower() for name in self.headers}) < len(self.headers):
            raise ValueError("a header appears twice, in different case")
        if sum(map(len, (*self.headers, *self.headers.values()))) > HEADERS_LIMIT:
            raise ValueError(f"the headers exceed {HEADERS_LIMIT} characters")
