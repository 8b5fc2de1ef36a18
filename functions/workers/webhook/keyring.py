"""Signing secrets of the endpoints: each for one host, two while one is being rotated."""

import logging
import time
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from taskmill.core.errors import SettingsInvalid

SECONDS_TO_NOTICE: Final = 60
"""A changed secret takes effect within this time; a new one at once."""

_SECONDS_BETWEEN_QUESTIONS: Final = 1
_PREFIX: Final = "whsec_"
_SHORTEST, _LONGEST = 24, 64  # bytes, as in the standard
_log = logging.getLogger("taskmill.webhook")


class _Entry(Struct, forbid_unknown_fields=True):
    host: str
    secrets: Annotated[list[str], Meta(min_length=1, max_length=2)]


class Unsigned(Struct, frozen=True):
    """There is no valid secret to sign the call with; the message says why."""

    why: str


class _Signer(Struct, frozen=True, kw_only=True):
    host: str
    secrets: tuple[bytes, ...]


class Keyring:
    """Secrets by name, as *read* returns them: {"name": {"host": …, "secrets": ["whsec_…"]}}."""

    def __init__(self, read: Callable[[], str], now: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._now = now
        self._lock = Lock()
        self._signers = read_signers(read())
        self._read_again = now() + SECONDS_TO_NOTICE
        self._ask_for_strangers = now()

    def secrets_for(self, name: str, host: str) -> Sequence[bytes] | Unsigned:
        """Return the secrets for calls to *host*; a secret for another host is never used."""
        signer = self._current(name).get(name)
        if signer is None:
            return Unsigned(f"there is no signing secret named {name}")
        if signer.host != host:
            return Unsigned(f"the signing secret {name} is for another host than {host}")
        return signer.secrets

    def _current(self, name: str) -> Mapping[str, _Signer]:
        with self._lock:  # a thread that asks for a new name must wait for this read
            now = self._now()
            if name not in self._signers and now >= self._ask_for_strangers:
                self._ask_for_strangers = now + _SECONDS_BETWEEN_QUESTIONS
                self._read_anew(now)
            elif now >= self._read_again:
                self._read_anew(now)
            return self._signers

    def _read_anew(self, now: float) -> None:
        self._read_again = now + SECONDS_TO_NOTICE
        try:
            self._signers = read_signers(self._read())
        except SettingsInvalid as error:
            _log.warning("signing secrets could not be reloaded", extra={"why": str(error)})


def read_signers(text: str) -> Mapping[str, _Signer]:
    """Return the secrets by name. Messages never repeat a value."""
    try:
        entries = msgspec.json.decode(text or "{}", type=dict[str, _Entry])
    except (msgspec.DecodeError, UnicodeEncodeError):
        # Raised without its cause, whose message may contain part of a secret.
        raise SettingsInvalid(
            "the secret of TASKMILL_WEBHOOK_SECRET must hold "
            '{"name": {"host": "<host>", "secrets": ["whsec_…"]}, …}, one or two secrets each'
        ) from None
    signers = {name: _signer(entry) for name, entry in entries.items()}
    wrong = [name for name, signer in signers.items() if signer is None]
    if wrong:
        raise SettingsInvalid(
            f"the secret of TASKMILL_WEBHOOK_SECRET holds, under {', '.join(wrong)}, a value that"
            f" is not {_PREFIX} and {_SHORTEST} to {_LONGEST} bytes in base64"
        )
    return {name: signer for name, signer in signers.items() if signer is not None}


def _signer(entry: _Entry) -> _Signer | None:
    try:
        secrets = tuple(
            b64decode(secret.removeprefix(_PREFIX), validate=True) for secret in entry.secrets
        )
    except ValueError:
        return None
    is_right = all(_SHORTEST <= len(secret) <= _LONGEST for secret in secrets)
    return _Signer(host=entry.host.lower(), secrets=secrets) if is_right else None
