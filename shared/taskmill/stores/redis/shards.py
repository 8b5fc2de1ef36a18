"""Opens shards and lanes: declares that this server's data is complete."""

from collections.abc import Collection

from taskmill.core.task import TaskType
from taskmill.lanes.lane import lane_of
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import ShardKeys, lane_keys
from taskmill.stores.redis.session import Session


def open_shards(session: Session, shards: int, *, since: str = "") -> None:
    """Mark every shard as live under the server's current run id; or those live *since* a run.

    Only a caller that knows that the server lost nothing may do so: the local platform, for a
    server that it restarted on data that it had shut down cleanly.
    """
    run_id = session.run_id()
    for shard in range(shards):
        marker = ShardKeys(shard, shards).marker
        if not since or session.command("GET", marker) == since.encode():
            session.command("SET", marker, run_id)


def open_lanes(session: Session, types: Collection[TaskType], *, since: str = "") -> None:
    """Mark the lane of every type as live, like the shards; a lane without an epoch gets one."""
    run_id, renew_epoch = session.run_id(), scripts.load("lanes/renew_epoch")
    for keys in (lane_keys(lane_of(one)) for one in types):
        if not since or session.command("GET", keys.marker) == since.encode():
            session.command("SET", keys.marker, run_id)
            session.call(renew_epoch, [([keys.marker, keys.state], [])])
