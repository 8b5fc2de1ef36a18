"""The payload of `email`: recipients and content; nothing in it can end a header line."""

from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

MOST_RECIPIENTS = 50
LONGEST_PART = 1_000_000

# Line breaks, control characters and direction overrides. A lookahead, since `$` in Python would
# accept a trailing line feed.
_ON_ONE_LINE = (
    r"^(?![\s\S]*[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069])"  # JSON Schema's spelling
)
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_ADDRESS = rf"{_ATOM}(?:\.{_ATOM})*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*"

Mailbox: TypeAlias = Annotated[
    str,
    Meta(
        pattern=rf'{_ON_ONE_LINE}(?:[^<>"\\]+ <{_ADDRESS}>|{_ADDRESS})$',
        max_length=320,
        description="ada@example.com, or Ada Lovelace <ada@example.com>; addresses in ASCII",
    ),
]
Recipients: TypeAlias = Annotated[list[Mailbox], Meta(max_length=MOST_RECIPIENTS)]
Part: TypeAlias = Annotated[str, Meta(max_length=LONGEST_PART)]
HeaderName: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^(?:(?:[Xx]-(?![Ss][Ee][Ss]-)|[Ll]ist-)[A-Za-z0-9-]{1,70}"
        r"|In-Reply-To|References|Auto-Submitted|Importance|Feedback-ID)$(?!\n)",
        description="X-…, List-…, In-Reply-To, References, Auto-Submitted, Importance, Feedback-ID",
    ),
]
HeaderValue: TypeAlias = Annotated[str, Meta(pattern=_ON_ONE_LINE, max_length=900)]


class Email(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename={"sender": "from"},
):
    """One mail to at most fifty recipients; those in `bcc` appear in no header."""

    to: Annotated[Recipients, Meta(min_length=1)]
    cc: Recipients = []
    bcc: Recipients = []
    sender: Mailbox | UnsetType = UNSET
    """The sender, in the domain of the deployment's own; by default that one."""

    reply_to: Mailbox | UnsetType = UNSET
    subject: Annotated[str, Meta(pattern=_ON_ONE_LINE, max_length=500)]
    text: Part = ""
    html: Part = ""
    headers: Annotated[dict[HeaderName, HeaderValue], Meta(max_length=20)] = {}

    def __post_init__(self) -> None:
        if len(self.to) + len(self.cc) + len(self.bcc) > MOST_RECIPIENTS:
            raise ValueError(f"to, cc and bcc name more than {MOST_RECIPIENTS} recipients")
        if not (self.text or self.html):
            raise ValueError("text and html are empty: set at least one of them")
