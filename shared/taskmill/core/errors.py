"""Everything the queue can refuse with an exception, and why."""

NEWER_VERSION = "newer_version"
"""Why a parcel that a newer version wrote is in quarantine."""


class TaskmillError(Exception):
    """The base of every error that the queue raises."""


class StoreUnavailable(TaskmillError):
    """A store could not be asked; nothing is known about what it did. Ask again later."""

    def __init__(self, store: str, why: str) -> None:
        super().__init__(f"{store} cannot be reached: {why}")
        self.store = store
        self.why = why


class BlobRefused(TaskmillError):
    """The bucket is there and refuses: the policy or the name is wrong, or it is gone."""


class Unpublishable(TaskmillError):
    """The log is there and refuses one of the records for good; the others go through."""

    def __init__(self, store: str, why: str) -> None:
        super().__init__(f"{store} refuses a record: {why}")
        self.store = store
        self.why = why


class Undecodable(TaskmillError):
    """A Kafka record is not a parcel of this version; it belongs into quarantine."""


class NewerVersion(Undecodable):
    """A parcel that only a newer version of this code reads; until then it is kept."""

    def __init__(self, version: int) -> None:
        super().__init__(NEWER_VERSION)
        self.version = version


class SettingsInvalid(TaskmillError):
    """The environment lacks settings or holds wrong ones; the message names all of them."""


class ScheduleBroken(TaskmillError):
    """A schedule that was sound cannot be read here: its time zone is gone, or it is too new."""


class LedgerRefused(TaskmillError):
    """The ledger cannot hold this: the data itself is wrong, and asking again will not help."""
