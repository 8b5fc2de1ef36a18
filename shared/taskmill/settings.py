"""The environment, read once; complaints all at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from taskmill.domain.errors import SettingsInvalid

_PREFIX = "TASKMILL_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    kafka_brokers: str
    redis_url: str
    postgres_dsn: str
    shards: int
    waiting_places: int
    """How many requests of the gateway may wait for a task's end at a time."""

    @classmethod
    def from_env(cls, env: Mapping[str, str], *, needs: tuple[str, ...]) -> Self:
        """Read the settings, or name everything that is missing or wrong."""
        given = {name: env.get(f"{_PREFIX}{name.upper()}", "") for name in cls.__slots__}
        complaints = [f"{_PREFIX}{name.upper()} is missing" for name in needs if not given[name]]
        shards = _whole("shards", given["shards"] or "64", complaints)
        places = _whole("waiting_places", given["waiting_places"] or "0", complaints)
        if complaints:
            raise SettingsInvalid("; ".join(complaints))
        return cls(
            kafka_brokers=given["kafka_brokers"],
            redis_url=given["redis_url"],
            postgres_dsn=given["postgres_dsn"],
            shards=shards,
            waiting_places=places,
        )


def _whole(name: str, text: str, complaints: list[str]) -> int:
    if not (text.isascii() and text.isdecimal()):
        complaints.append(f"{_PREFIX}{name.upper()} must be a whole number, not {text!r}")
        return 0
    return int(text)
