"""The gateway's API keys: known only by hash, several at a time, rotatable."""

import hmac
import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from hashlib import sha256

from taskmill.core.errors import SettingsInvalid

SECONDS_TO_NOTICE = 60
"""A new or withdrawn key takes effect within this time."""

_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
_log = logging.getLogger("taskmill.api_keys")


class ApiKeys:
    """Keys by their hashes, as *read* returns them: a JSON object of names and SHA-256 hashes."""

    def __init__(self, read: Callable[[], str], now: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._now = now
        self._hashes = read_hashes(read())
        self._read_again = now() + SECONDS_TO_NOTICE

    def know(self, key: str) -> bool:
        return self.name_of(key) is not None

    def name_of(self, key: str) -> str | None:
        """Compare with every key, so that the duration reveals nothing."""
        digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        known = self._current().items()
        names = [name for name, one in known if hmac.compare_digest(digest, one)]
        return names[0] if names else None

    def _current(self) -> Mapping[str, str]:
        if self._now() >= self._read_again:
            self._read_again = self._now() + SECONDS_TO_NOTICE
            try:
                self._hashes = read_hashes(self._read())
            except SettingsInvalid as error:
                _log.warning("API keys could not be reloaded", extra={"why": str(error)})
        return self._hashes


def read_hashes(text: str) -> Mapping[str, str]:
    """Return the hashes by key name; without any, every request is rejected.

    Messages never repeat a value, which may be a key by mistake.
    """
    try:
        hashes = json.loads(text)
    except ValueError:
        hashes = None
    if not isinstance(hashes, dict):
        raise SettingsInvalid(
            'the secret of TASKMILL_API_KEYS_SECRET must hold {"name": "<SHA-256 in hex>", …}'
        )
    wrong = [
        name
        for name, value in hashes.items()
        if not isinstance(value, str) or _HASH.fullmatch(value) is None
    ]
    if wrong:
        raise SettingsInvalid(
            "the secret of TASKMILL_API_KEYS_SECRET holds no SHA-256 in lower-case hex under "
            + ", ".join(wrong)
        )
    return hashes
