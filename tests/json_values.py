"""Any JSON value that the gateway accepts, and a comparison of their meanings."""

import json

from hypothesis import strategies as st

LONGEST_INTEGER = 4_300
DEEPEST_IN_A_BATCH = 28
"""Four of 32 levels are those of the request around it."""

_letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
_awkward = st.sampled_from(
    [
        *("", "\x01", "\x7f", "\\u0000", "\\ud800", "\u2028", "é", "e\u0301", "\ufeff", "\ufffe"),
        *("\U0010ffff", "\U0001f600" * 50, "\u202e", "\\", '"', "\r\n", "null", "say", "x" * 500),
        *("'; DROP TABLE tasks; --", "{{7*7}} ${x} %s %(x)s $1", "*/ ]] --", "</script>"),
        *("__proto__", "tm:{4.1}:*"),
    ]
)
texts = _awkward | st.text(_letters, max_size=20)
_widths = st.integers(0, LONGEST_INTEGER - 2)
integers = (
    st.integers()
    | st.sampled_from([2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 2**64 + 1])
    | _widths.map(lambda width: 10**width + 7)
    | _widths.map(lambda width: -(10**width) - 7)
)
floats = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [-0.0, 5e-324, 1.7976931348623157e308, 0.1, 1e16, 1e22, 1e23, 9007199254740993.0]
)
scalars = st.none() | st.booleans() | integers | floats | texts
_wide = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)


@st.composite
def _deep(draw):
    """Return a value nested as deeply as allowed, in lists and objects."""
    value = draw(scalars)
    for _ in range(draw(st.integers(20, DEEPEST_IN_A_BATCH))):
        value = {draw(texts): value} if draw(st.booleans()) else [value]
    return value


values = _wide | _wide | _deep()


def meaning(value):
    """Return the meaning of *value*: integers are not floats, and names have no order."""
    return json.dumps(value, sort_keys=True)
