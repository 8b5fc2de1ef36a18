"""Removes secrets from error texts, which are kept for long and shown to many."""

import re
from functools import cache

HIDDEN = "***"

# Every repetition is bounded or possessive: no text takes long.
_SENSITIVE = (
    r"(?:pass(?:word|wd|phrase)|\bpass|pwd|secrets?|(?<!unexpected )token|credentials?|signature"
    r"|\bsig|(?:api|access|private|account|auth|secret|signing|encryption|master)[_\- ]?key"
    r"|session[_\-]?id)(?:[_\-][\w\-]{0,20})?"
)
_COOKIE = r"\b(?:set-)?cookie2?"
_AUTHORIZATION_NAME = r"\b(?:(?:proxy|x-amz)-)?authorization"
_ANY = rf"(?:{_SENSITIVE}|{_COOKIE}|{_AUTHORIZATION_NAME})"

_QUOTE = r"(?:\\{0,8}[\"']|%(?:25){0,3}2[27]|&(?:quot|apos|\#3[49]);)"
"""A quote: plain, nested, percent-encoded or in XML."""
_OF = r"\s{0,3}(?:=>|:=|[:=]|%(?:25){0,3}3[AaDd])(?:\s|%20|\+){0,3}"
"""Separators between a name and its value."""

_QUOTED = (
    r"[bBrRuU]{0,2}(?P<quote>\\{0,8}[\"']|%(?:25){0,3}2[27]|&(?:quot|apos|\#3[49]);)"
    r"(?:(?!(?<!\\)(?P=quote)).)*+(?P=quote)?"
)
_BRACKETED = r"\[[^\]]*+\]?|\([^)]*+\)?"
_BARE = (
    r"(?:[^\s,;&\"')\]}<>\\]"
    r"|\\(?!\\{0,8}[\"'])"
    r"|[,;](?!\s|$|[\w.\-]{1,40}\s?[=:])"
    r"|[\"')\]}](?=[^\s,;:&\"')\]}<>.\\])"
    r")+"
)
_LINE = r"(?:(?!\\[rn])[^\r\n\"'}])+"

_HIDDEN = r"\*{3}(?![^\s,;&\"')\]}<>%/\\])"
"""Earlier redactions stay, and nothing next to them is removed."""

_USER_INFO = (
    r"(?<=://)[^\s/@:\"'<>\[]{0,256}:(?!\d{1,5}(?:[/?\#]|$))"
    r"(?:[^\s\"'<>?\#]{0,512}|[^\s\"'<>]{0,512})(?=@)"
)
_WORDS_OF_PROSE = (
    r"(?:and|are|but|can|cannot|for|has|in|is|may|must|needs|not|of|option|or|requires|to|was|with)"
)


def _pattern(text: str) -> str:
    return f"(?is){text}"


_WHOLE = (
    _pattern(r"-----BEGIN [A-Z0-9 ]{0,60}-----.*?(?:-----END [A-Z0-9 ]{0,60}-----|\Z)"),
    _pattern(_USER_INFO),
    _pattern(r"(?<=://)[^\s/@\"'<>]+(?=@)"),
    r"(?<![\w\-])eyJ[\w\-]{8,}\.[\w\-]{4,}(?:\.[\w\-]*)?",
    (
        r"(?<![\w\-])(?:(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w\-]{30,}|gh[a-z]_\w{20,}"
        r"|github_pat_\w{20,}|glpat-[\w\-]{16,}|xox[a-z]-[\w\-]{10,}|[sr]k_(?:live|test)_\w{10,}"
        r"|sk-[\w\-]{20,}|whsec_[\w+/=]{10,})"
    ),
)
"""Secrets recognized by their form."""

_AFTER_A_NAME = (
    # Key and value as a pair, as two members of an object, or as two attributes.
    _pattern(
        rf"(?P<name>[(\[]\s{{0,3}}[bu]?{_QUOTE}[\w\-]{{0,30}}?{_ANY}{_QUOTE},\s{{0,3}})"
        rf"(?:{_HIDDEN}|{_QUOTED}|{_BARE})"
    ),
    _pattern(
        rf"(?P<name>{_QUOTE}[\w\-]{{0,30}}?{_ANY}{_QUOTE}[\s,]{{1,3}}{_QUOTE}?value{_QUOTE}?{_OF})"
        rf"(?:{_HIDDEN}|{_QUOTED}|{_BARE})"
    ),
    # The arguments of a command.
    _pattern(
        rf"(?P<name>(?<![\w\-])--?[\w\-]{{0,30}}?{_SENSITIVE}(?:{_QUOTE}?,\s{{0,3}}|\s{{1,3}}))"
        rf"(?!-|{_WORDS_OF_PROSE}\b)(?:{_HIDDEN}|{_QUOTED}|{_BARE})"
    ),
    _pattern(r"(?P<name>(?<!\S)(?:-u|--user)[\s=]{1,3}[^\s:]{1,128}:)\S+"),
    _pattern(
        rf"(?P<name><(?:[\w.\-]{{1,40}}:)?[\w.\-]{{0,40}}?{_SENSITIVE}[\w.\-]{{0,20}}"
        r"(?:\s[^<>]{0,200})?>)(?:<!\[CDATA\[(?:(?!\]\]>).)*+(?:\]\]>)?|[^<]+)"
    ),
    _pattern(rf"(?P<name>{_COOKIE}{_QUOTE}?{_OF})(?:{_HIDDEN}|{_BRACKETED}|{_QUOTED}|{_LINE})"),
    _pattern(
        rf"(?P<name>{_AUTHORIZATION_NAME}{_QUOTE}?{_OF})"
        rf"(?:{_HIDDEN}|{_BRACKETED}|{_QUOTED}|(?:digest|aws4-[\w\-]{{1,30}})\s(?:(?!\\[rn])[^\r\n}}])+"
        r"|(?:(?:bearer|basic|negotiate|ntlm|hmac|hawk|jwt|key|signature|token|apikey)\s+)?"
        rf"{_BARE})"
    ),
    _pattern(rf"(?P<name>{_SENSITIVE}{_QUOTE}?{_OF})(?:{_HIDDEN}|{_BRACKETED}|{_QUOTED}|{_BARE})"),
    _pattern(r"(?P<name>\bbearer\s+)[\w\-.~+/=]{8,}"),
    _pattern(r"(?P<name>\bbasic\s+)(?=[\w+/]{0,400}[\d=+/])[\w+/=]{8,}"),
)
"""Secrets recognized by the name before them."""


def redacted(text: str) -> str:
    """Return *text* without anything that looks like the value of a secret."""
    for pattern in _WHOLE:
        text = _compiled(pattern).sub(HIDDEN, text)
    for pattern in _AFTER_A_NAME:
        text = _compiled(pattern).sub(rf"\g<name>{HIDDEN}", text)
    return text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when the first text needs it: all of them together take some 5 ms."""
    return re.compile(pattern)
