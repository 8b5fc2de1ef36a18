"""`taskmill leave-lanes`: a step on the way back to the version without lanes."""

from collections.abc import Mapping

from msgspec import to_builtins

from taskmill.core.errors import SettingsInvalid, StoreUnavailable
from taskmill.platform import process
from taskmill.recovery.leave_lanes import LaneLeave, LanesNotLeft
from taskmill.settings import Settings
from taskmill_local.cli.commands.doctor import addressed
from taskmill_local.cli.exits import Exit
from taskmill_local.cli.printing import complain, print_json, print_line
from taskmill_local.errors import PlatformError


def leave_lanes(environment: Mapping[str, str], url: str, *, as_json: bool) -> Exit:
    try:
        settings = Settings.from_env(
            addressed(environment, url), needs=("kafka", "redis", "postgres")
        )
        stores = process.open_stores(settings, name="leaving")
        left = LaneLeave(stores, pause=process.pause).run()
    except LanesNotLeft as error:
        return complain(f"Not all lanes were left: {error}.", Exit.OTHERWISE)
    except (SettingsInvalid, StoreUnavailable) as error:
        raise PlatformError(f"The lanes were not left: {error}. Run this again.") from error
    if as_json:
        print_json(to_builtins(left))
    else:
        print_line(
            f"published {left.from_lanes} tasks from lanes and {left.from_shelves} from shelves;"
            " the lanes are closed"
        )
    return Exit.DONE
