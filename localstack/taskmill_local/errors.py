"""Errors that stop the local platform, each with a message for people."""


class PlatformError(Exception):
    """The platform cannot continue: the message says what is wrong and what to do next."""


class HomeUnusable(PlatformError):
    """The folder for the platform's data cannot be used."""


class StoreFailed(PlatformError):
    """A store did not start."""


class JarsUnusable(PlatformError):
    """The broker's jars are missing or do not match the lock file."""


class JavaMissing(PlatformError):
    """No Java that can run the broker was found."""
