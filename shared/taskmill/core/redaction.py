"""Takes secrets out of error texts, which are kept for long and shown to many."""

import re

HIDDEN = "***"

_USER_INFO = re.compile(r"(?<=://)[^\s/@\"'<>]+(?=@)")
_AUTHORIZATION = re.compile(
    r"(?P<name>\b(?:proxy-)?authorization\b[\"']?\s*[:=]\s*[\"']?)"
    r"(?:(?:bearer|basic|digest|negotiate|token|apikey)\s+)?[^\s,;\"']+",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?P<name>(?:pass(?:word|wd|phrase)|\bpass|pwd|secrets?|token|credentials?|signature"
    r"|(?:api|access|private|account|auth)[_\- ]?key)"
    r"(?:[_\-][\w\-]{0,20})?[\"']?\s{0,3}(?:=>|[:=])\s{0,3})"
    r"(?:\"[^\"]*\"?|'[^']*'?|[^\s,;&\"')\]}]+)",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?P<name>\bbearer\s+)[\w\-.~+/=]{8,}", re.IGNORECASE)


def redacted(text: str) -> str:
    """Return *text* without what looks like the value of a secret."""
    text = _USER_INFO.sub(HIDDEN, text)
    for pattern in (_AUTHORIZATION, _NAMED, _BEARER):
        text = pattern.sub(rf"\g<name>{HIDDEN}", text)
    return text
