"""Works off the redrive jobs that people made."""

from datetime import timedelta

from functions.scheduler.chore import Chore
from taskmill.bootstrap import chores
from taskmill.orders.redrive import redrive
from taskmill.orders.redrive_jobs import redrive_many


def _redrive() -> int:
    bound = chores.redriving()
    return redrive_many(
        bound.jobs,
        lambda wishes: redrive(
            wishes,
            control=bound.control,
            admission=bound.admission,
            bus=bound.bus,
            rows=lambda: bound.rows,
            find=bound.find,
        ),
    )


CHORE = Chore(name="redrive_many", every=timedelta(milliseconds=500), do=_redrive, is_slow=True)
