"""What is measured on a machine that may stand still meanwhile."""


def exceeding(measure):
    """Return each measurement that is more than it may be; *measure* gives one, and that most.

    One alone may tell of the machine; the two behind it tell of us.
    """
    found, most = measure()
    return [] if found <= most else [more for more, most in (measure(), measure()) if more > most]
