"""Opens the shards: says that what this server holds is whole."""

from taskmill.adapters.redis.keys import ShardKeys
from taskmill.adapters.redis.session import Session


def open_shards(session: Session, shards: int) -> None:
    """Mark every shard as alive under the server's present run id.

    Only who knows that the server lost nothing may say so: the local platform, of the server that
    it started on its own append-only file.
    """
    run_id = session.run_id()
    for shard in range(shards):
        session.command("SET", ShardKeys(shard, shards).marker, run_id)
