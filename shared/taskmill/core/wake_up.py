"""Where a process is to be started."""

from msgspec import Struct

from taskmill.core.task import TaskType


class WakeUp(Struct, frozen=True, order=True):
    """No process of this partition asks the lane by itself: a record without content starts one."""

    type: TaskType
    partition: int
