"""The size of a proof: small in each run of the tests, as large as was promised by `make prove`."""

import os

PROVE = "PROVE"
"""`make prove` sets it."""


def scaled(usual, promised):
    return promised if os.environ.get(PROVE) else usual
