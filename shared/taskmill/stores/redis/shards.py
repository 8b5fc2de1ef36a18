"""Opens the shards: declares that this server's data is complete."""

from taskmill.stores.redis.keys import ShardKeys
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
