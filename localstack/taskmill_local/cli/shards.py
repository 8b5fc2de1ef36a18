"""Opens the shards of a Redis that the local platform did not start itself."""

from collections.abc import Mapping

from taskmill.adapters.redis.keys import ShardKeys
from taskmill.adapters.redis.session import Session
from taskmill.adapters.redis.shards import open_shards
from taskmill.domain.errors import SettingsInvalid, StoreUnavailable
from taskmill.settings import Settings
from taskmill_local.cli.exits import Exit
from taskmill_local.errors import PlatformError


def open_own_shards(environment: Mapping[str, str], *, again: bool) -> Exit:
    try:
        settings = Settings.from_env(environment, needs=("redis",))
        session = Session(settings.redis)
        marked = _marked(session, settings.shards)
        if marked and not again:
            raise PlatformError(
                f"{marked} of {settings.shards} shards were opened before. If you know that this "
                "Redis lost nothing since, open them with --again."
            )
        open_shards(session, settings.shards)
    except (SettingsInvalid, StoreUnavailable) as error:
        raise PlatformError(f"The shards cannot be opened: {error}.") from error
    print(f"{settings.shards} shards are open")  # noqa: T201 - a command tells what it did
    return Exit.DONE


def _marked(session: Session, shards: int) -> int:
    keys = [ShardKeys(shard, shards).marker for shard in range(shards)]
    return sum(session.command("EXISTS", key) for key in keys)
