"""Resource use of the whole system while it is idle."""

import time
from typing import Final

from bench.figures import Figure
from bench.sizes import Sizes
from bench.system import System

_SECTION: Final = "idle: per cent of a core"
_MOST_PERCENT: Final = 5
_SETTLE_SECONDS: Final = 1


def measure_idle(system: System, sizes: Sizes) -> list[Figure]:
    time.sleep(_SETTLE_SECONDS)
    before, began = system.usage(), time.monotonic()
    time.sleep(sizes.idle_seconds)
    usage, seconds = system.usage().since(before), time.monotonic() - began
    percents = {name: cpu / seconds * 100 for name, cpu in usage.items()}
    return [
        *(
            Figure(section=_SECTION, name=name, value=percent, unit="%")
            for name, percent in sorted(percents.items(), key=lambda pair: -pair[1])
        ),
        Figure(
            section=_SECTION,
            name="all",
            value=sum(percents.values()),
            unit="%",
            limit=_MOST_PERCENT,
        ),
    ]
