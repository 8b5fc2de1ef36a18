"""What is too large to travel with its task: opened by the first who asks for it."""

import os
from datetime import timedelta
from functools import cache

from taskmill.platform import process
from taskmill.settings import Settings
from taskmill.settings.access import S3Access
from taskmill.stores.guard import QUICK, Guard
from taskmill.submission.ports import Blobs

_PATIENCE_AT_THE_DOOR = timedelta(seconds=2)
_PATIENCE_IN_LINE = timedelta(seconds=10)
_TRIES_IN_LINE = 3


@cache
def access() -> S3Access:
    return Settings.from_env(os.environ, needs=("s3",)).s3


@cache
def at_the_door() -> Blobs:
    """Open the bucket for requests: none waits for it behind one that waited in vain."""
    from taskmill.stores.s3.blobs import STORE, S3Blobs

    guard = Guard(STORE, tolerance=QUICK, opened=process.count_opening)
    keeps = Settings.from_env(os.environ, needs=()).keeps
    return S3Blobs(access(), patience=_PATIENCE_AT_THE_DOOR, guard=guard, keeps=keeps)


@cache
def in_line() -> Blobs:
    """Open the bucket for workers, who have more time than a request."""
    from taskmill.stores.s3.blobs import S3Blobs

    return S3Blobs(access(), patience=_PATIENCE_IN_LINE, tries=_TRIES_IN_LINE)
