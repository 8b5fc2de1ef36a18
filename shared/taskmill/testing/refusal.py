"""What a request comes to that the gateway would not take."""


class Refused(Exception):
    """The gateway would refuse this; the message says why."""
