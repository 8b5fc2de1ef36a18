"""Lanes, their rebuild and their rings, in memory."""

from taskmill.stores.memory.lanes.cold import MemoryColdLanes
from taskmill.stores.memory.lanes.live import MemoryLanes, MemoryRings

__all__ = ["MemoryColdLanes", "MemoryLanes", "MemoryRings"]
