"""Reads the account's secrets and parameters through Powertools' cache.

boto3 is imported on the first read: a process configured by environment alone never pays for it.
"""
# ruff: noqa: PLC0415 - see above

from functools import cache
from typing import Any

from taskmill.core.errors import SettingsInvalid

SECONDS_TO_CONNECT = 1
SECONDS_TO_ANSWER = 2
SECONDS_OF_CACHE = 300


class SecretUnreadable(SettingsInvalid):
    """A secret or parameter could not be read."""


def read_secret(name: str, *, fresh: bool = False) -> str:
    """Return the text of a secret; `fresh` bypasses the cache."""
    return _read(_secrets(), "secret", name, fresh=fresh)


def read_parameter(name: str, *, fresh: bool = False) -> str:
    return _read(_parameters(), "parameter", name, fresh=fresh, decrypt=True)


def _read(provider: Any, kind: str, name: str, *, fresh: bool, **options: bool) -> str:
    from aws_lambda_powertools.utilities.parameters import GetParameterError

    try:
        value = provider.get(name, max_age=SECONDS_OF_CACHE, force_fetch=fresh, **options)
    except GetParameterError as error:
        raise SecretUnreadable(f"the {kind} {name!r} cannot be read: {error}") from error
    return value.decode() if isinstance(value, bytes) else str(value)


@cache
def _secrets() -> Any:
    from aws_lambda_powertools.utilities.parameters import SecretsProvider

    return SecretsProvider(boto_config=_patience())


@cache
def _parameters() -> Any:
    from aws_lambda_powertools.utilities.parameters import SSMProvider

    return SSMProvider(boto_config=_patience())


def _patience() -> Any:
    from botocore.config import Config

    return Config(
        connect_timeout=SECONDS_TO_CONNECT,
        read_timeout=SECONDS_TO_ANSWER,
        retries={"total_max_attempts": 2, "mode": "standard"},
    )
