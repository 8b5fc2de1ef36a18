"""The stores of the gateway: each request waits for one that is away no longer than it must."""

from taskmill.platform import process
from taskmill.stores.patience import OF_A_REQUEST
from taskmill.stores.stores import Stores

_NEEDS = ("kafka", "redis", "postgres", "s3", "api_keys")


def stores() -> Stores:
    return process.stores("gateway", needs=_NEEDS, patience=OF_A_REQUEST)
