"""Measurements on a machine that may stall meanwhile."""


def exceeding(measure):
    """Return each measurement above its maximum; *measure* returns a value and its maximum.

    A single one may be due to the machine; two more after it are due to the code.
    """
    found, most = measure()
    return [] if found <= most else [more for more, most in (measure(), measure()) if more > most]
