"""Every exception that the queue raises."""

NEWER_VERSION = "newer_version"
"""Why a newer version's batch is in quarantine."""


class TaskmillError(Exception):
    """Base class of all errors that the queue raises."""


class StoreUnavailable(TaskmillError):
    """A store did not answer, so the effect of the call is unknown; try again later."""

    def __init__(self, store: str, why: str) -> None:
        super().__init__(f"{store} cannot be reached: {why}")
        self.store = store
        self.why = why


class StoreFull(StoreUnavailable):
    """A store has no memory left: it refuses what would add to it, and serves all else."""


class BlobRefused(TaskmillError):
    """The bucket refused: the policy or the name is wrong, or the bucket does not exist."""


class Unpublishable(TaskmillError):
    """The log permanently refuses one of the records; the others go through."""

    def __init__(self, store: str, why: str) -> None:
        super().__init__(f"{store} refuses a record: {why}")
        self.store = store
        self.why = why


class Undecodable(TaskmillError):
    """A Kafka record is not a batch of this version; it belongs in quarantine."""


class NewerVersion(Undecodable):
    """A batch that only a newer version of this code can read; it is kept until then."""

    def __init__(self, version: int) -> None:
        super().__init__(NEWER_VERSION)
        self.version = version


class SettingsInvalid(TaskmillError):
    """Settings are missing or wrong; the message lists all of them."""


class ScheduleBroken(TaskmillError):
    """A once valid schedule cannot be read here: its time zone is gone, or it is too new."""


class LedgerRefused(TaskmillError):
    """The ledger cannot store this data; trying again does not help."""
