"""Raised for a request that the gateway would refuse."""


class Refused(Exception):
    """The gateway would refuse this; the message says why."""
