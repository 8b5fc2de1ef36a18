"""Fixtures for schedule tests."""

import zoneinfo
from importlib import resources

import pytest

from taskmill.schedules import fire_step, zones
from tests.unit.schedules.scheduling import Scheduling

ZONE = "Europe/Nowhere"


@pytest.fixture
def scheduling():
    return Scheduling()


@pytest.fixture
def rules(tmp_path):
    """Restart with a zone that many hours ahead of UTC; None makes the zone unknown."""

    def begin(hours):
        folder = tmp_path / str(hours)
        (folder / "Europe").mkdir(parents=True, exist_ok=True)
        if hours is not None:
            known = resources.files("tzdata").joinpath("zoneinfo", "Etc", f"GMT-{hours}")
            (folder / ZONE).write_bytes(known.read_bytes())
        zoneinfo.reset_tzpath([folder])
        _forget()

    yield begin
    zoneinfo.reset_tzpath()
    _forget()


def _forget():
    zoneinfo.ZoneInfo.clear_cache()
    fire_step._calendar.cache_clear()  # noqa: SLF001 - a new process has none
    zones._jumps_of.cache_clear()  # noqa: SLF001 - a new process has none
