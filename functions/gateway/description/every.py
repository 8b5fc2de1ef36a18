"""Every route of the gateway; a test compares it with the deployed routes and their responses."""

from collections.abc import Sequence
from typing import Final

from functions.gateway.description import (
    control,
    endpoints,
    enqueued,
    history,
    pauses,
    payloads,
    quarantine,
    reading,
    redrives,
    schedules,
    service,
    submitting,
)
from functions.gateway.description.operation import Operation

OPERATIONS: Final[Sequence[Operation]] = (
    *payloads.OPERATIONS,
    *submitting.OPERATIONS,
    *reading.OPERATIONS,
    *history.OPERATIONS,
    *control.OPERATIONS,
    *redrives.OPERATIONS,
    *schedules.OPERATIONS,
    *pauses.OPERATIONS,
    *quarantine.OPERATIONS,
    *enqueued.OPERATIONS,
    *endpoints.OPERATIONS,
    *service.OPERATIONS,
)
