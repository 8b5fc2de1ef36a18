"""Publishes what is owed and due: the tick of the whole queue."""

from functions.scheduler.chore import Chore
from taskmill.bootstrap import scheduler
from taskmill.dispatch.due import publish_due


def _publish() -> int:
    services = scheduler.services()
    return publish_due(services.due, services.bus)


CHORE = Chore(name="publish_due", do=_publish)
