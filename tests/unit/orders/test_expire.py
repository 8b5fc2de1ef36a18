"""Tasks that did not start in time die, wherever they wait, and the log knows."""

from datetime import timedelta

from msgspec.structs import replace

from taskmill.core.facts import TaskAdmitted, TaskDied
from taskmill.core.task import Status, Timing
from taskmill.orders.expire import Expiration
from tests.builders import a_request
from tests.contracts.hot import admitted
from tests.unit.world import World


def test_a_submission_that_is_still_owed_is_told_with_the_end():
    world = World()
    end = world.clock() + 1_000
    request = a_request("key", timing=Timing(expires_at_ms=end))
    world.log.send_pending([replace(request, deferred=True)])
    world.log.flush()
    world.record()
    task = admitted(world.admission, request)  # by a gateway that died before it published
    world.wait(timedelta(seconds=2))
    ended = Expiration(world.stores()).run()
    first, death = world.log.facts()
    assert (ended, type(first), type(death)) == (1, TaskAdmitted, TaskDied)
    assert first.envelope.generation == task.generation
    world.record()
    (row,) = world.ledger.of([task.id])
    assert (row.status, row.generation) == (Status.DEAD, task.generation)
