"""Opens the shards: says that what this server holds is whole."""

from taskmill.stores.redis.keys import ShardKeys
from taskmill.stores.redis.session import Session


def open_shards(session: Session, shards: int, *, since: str = "") -> None:
    """Mark every shard as alive under the server's present run id; or those alive *since* a run.

    Only who knows that the server lost nothing may say so: the local platform, of the server that
    it started on what it had stopped.
    """
    run_id = session.run_id()
    for shard in range(shards):
        marker = ShardKeys(shard, shards).marker
        if not since or session.command("GET", marker) == since.encode():
            session.command("SET", marker, run_id)
