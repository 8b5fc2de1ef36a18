"""Every port of the queue over plain values, under the names that the stores of a process have."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from taskmill.core.lifetimes import LEDGER_DAYS
from taskmill.core.ports import Bus, Clock, Counters, LogEnds, LogReaders, Pause
from taskmill.dispatch.ports import Delays, DueSet, Parking, ShelvedRecords
from taskmill.egress.ports import Endpoints
from taskmill.execution.pace import USUAL, Pace
from taskmill.execution.ports import Leases
from taskmill.insight.ports import LedgerFigures
from taskmill.lanes.caps import USUAL_CAPS, Caps
from taskmill.lanes.ports import ColdLanes, Lanes, Rings, Rules, Turns
from taskmill.ledger.ports import (
    Archive,
    Expiries,
    FarTasks,
    Ledger,
    LedgerRows,
    NewerBatches,
    Quarantine,
    Shelf,
    WholeRows,
)
from taskmill.orders.ports import Control, RedriveJobs
from taskmill.recovery.ports import (
    ColdShards,
    LaneStates,
    Placements,
    Repairs,
    Shards,
    TaskVersions,
    UnreadableKeys,
)
from taskmill.schedules.ports import Firing, Schedules
from taskmill.stores.memory.blobs import MemoryBlobs
from taskmill.stores.memory.dispatch import MemoryDelays, MemoryParking, MemoryShelvedRecords
from taskmill.stores.memory.egress import MemoryEndpoints
from taskmill.stores.memory.enqueued import MemoryRequests
from taskmill.stores.memory.execution import MemoryLeases, MemoryTurns
from taskmill.stores.memory.hot import MemoryAdmission, MemoryDueSet, MemoryHot, MemoryRecords
from taskmill.stores.memory.insight import MemoryFigures
from taskmill.stores.memory.lanes import MemoryColdLanes, MemoryLanes, MemoryRings
from taskmill.stores.memory.lanes.rules import MemoryRules
from taskmill.stores.memory.ledger import MemoryLedger
from taskmill.stores.memory.log import MemoryLog
from taskmill.stores.memory.orders import MemoryControl
from taskmill.stores.memory.outbox import MemoryOutbox
from taskmill.stores.memory.quarantine import MemoryNewerBatches, MemoryQuarantine
from taskmill.stores.memory.recovery import (
    MemoryColdShards,
    MemoryLaneStates,
    MemoryPlacements,
    MemoryRepairs,
    MemoryShards,
    MemoryTaskVersions,
    MemoryUnreadable,
)
from taskmill.stores.memory.redrive_jobs import MemoryRedriveJobs
from taskmill.stores.memory.retention import MemoryArchive
from taskmill.stores.memory.schedules import MemorySchedules
from taskmill.stores.memory.timing import MemoryExpiries, MemoryFarTasks, MemoryShelf
from taskmill.submission.ports import Admission, Blobs, Catalogue, Outbox, Records, Requests

Dress = Callable[[str, Any], Any]
"""Takes the name of a port and the port, and returns its replacement."""


def as_it_is(_name: str, port: Any) -> Any:
    return port


class MemoryStores:
    """The values themselves are `hot`, `log`, `rows`, `spill`, `bucket` and `queue`."""

    def __init__(  # noqa: PLR0913 - what a whole system is made of, all named
        self,
        clock: Clock,
        *,
        pause: Pause,
        catalogue: Catalogue,
        counters: Counters,
        dress: Dress = as_it_is,
        caps: Caps = USUAL_CAPS,
    ) -> None:
        self.clock = clock
        self.pause = pause
        self.catalogue = catalogue
        self.counters = counters
        self.pace: Pace = USUAL
        self.keeps = timedelta(days=LEDGER_DAYS)
        self.caps = caps
        self.hot = MemoryHot(clock)
        self.hot.open()
        self.hot.lanes.open()
        self.log = MemoryLog(clock)
        self.rows = MemoryLedger()
        self.spill = self.rows.outbox = MemoryOutbox(clock=clock)
        self.bucket = MemoryBlobs()
        self.queue = MemoryRequests(clock, self._rows)
        self._open_log(dress)
        self._open_hot(dress)
        self._open_lanes(dress)
        self._open_ledger(dress)
        self._open_jobs(dress)

    def _rows(self) -> MemoryLedger:
        return self.rows

    def _open_log(self, dress: Dress) -> None:
        self.bus: Bus = dress("bus", self.log)
        self.log_ends: LogEnds = self.log
        self.readers: LogReaders = self.log
        self.blobs: Blobs = dress("blobs", self.bucket)

    def _open_hot(self, dress: Dress) -> None:
        self.admission: Admission = dress("admission", MemoryAdmission(self.hot))
        self.due: DueSet = dress("due", MemoryDueSet(self.hot))
        self.leases: Leases = dress("leases", MemoryLeases(self.hot))
        self.records: Records = dress("records", MemoryRecords(self.hot))
        self.control: Control = dress("control", MemoryControl(self.hot))
        self.delays: Delays = dress("delays", MemoryDelays(self.hot))
        shelved_records = MemoryShelvedRecords(self.hot)
        self.shelved_records: ShelvedRecords = dress("shelved_records", shelved_records)
        self.parking: Parking = dress("parking", MemoryParking(self.hot))
        self.shards: ColdShards = dress("shards", MemoryColdShards(self.hot))
        self.placements: Placements = dress("placements", MemoryPlacements(self.hot))
        self.repairs: Repairs = dress("repairs", MemoryRepairs(self.hot))
        self.unreadable: UnreadableKeys = dress("unreadable", MemoryUnreadable(self.hot))
        self.turns: Turns = dress("turns", MemoryTurns(self.hot))
        self.health: Shards = dress("health", MemoryShards(self.hot))
        self.endpoints: Endpoints = dress("endpoints", MemoryEndpoints())

    def _open_lanes(self, dress: Dress) -> None:
        self.lanes: Lanes = dress("lanes", MemoryLanes(self.hot, self.catalogue, caps=self.caps))
        self.rings: Rings = dress("rings", MemoryRings(self.hot, self.pause))
        cold_lanes = MemoryColdLanes(self.hot, self.catalogue, caps=self.caps)
        lane_states = MemoryLaneStates(self.hot, self.catalogue)
        self.lane_states: LaneStates = dress("lane_states", lane_states)
        self.cold_lanes: ColdLanes = dress("cold_lanes", cold_lanes)

    def _open_ledger(self, dress: Dress) -> None:
        self.ledger: Ledger = dress("ledger", self.rows)
        self.ledger_rows: LedgerRows = self.rows
        self.whole_rows: WholeRows = self.rows
        self.outbox: Outbox = dress("outbox", self.spill)
        self.requests: Requests = dress("requests", self.queue)
        schedules = MemorySchedules(self._rows, self.queue, self.clock)
        self.rules: Rules = dress("rules", MemoryRules(self._rows, self.clock))
        self.schedules: Schedules = dress("schedules", schedules)
        self.firing: Firing = dress("firing", schedules)
        self.quarantine: Quarantine = dress("quarantine", MemoryQuarantine(self._rows))
        self.figures: LedgerFigures = dress("figures", MemoryFigures(self.rows, self.clock))

    def _open_jobs(self, dress: Dress) -> None:
        """Open what periodic jobs work with."""
        self.far: FarTasks = dress("far", MemoryFarTasks(self._rows, self.clock))
        self.shelf: Shelf = dress("shelf", MemoryShelf(self._rows))
        self.expiries: Expiries = dress("expiries", MemoryExpiries(self._rows, self.clock))
        redrives = MemoryRedriveJobs(self._rows, self.clock)
        self.redrive_jobs: RedriveJobs = dress("redrive_jobs", redrives)
        task_versions = MemoryTaskVersions(self._rows, self.clock)
        self.task_versions: TaskVersions = dress("task_versions", task_versions)
        newer_batches = MemoryNewerBatches(self._rows, self.clock)
        self.newer_batches: NewerBatches = dress("newer_batches", newer_batches)
        archive = MemoryArchive(self._rows, self.spill, self.queue, self.clock)
        self.archive: Archive = dress("archive", archive)
