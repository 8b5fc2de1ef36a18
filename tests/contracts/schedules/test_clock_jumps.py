"""When the schedulers' clock jumps, no instant fires twice or early."""

import json
import shutil
import tempfile
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec import Raw

from taskmill.schedules.catch_up import CatchUp
from taskmill.schedules.fire_due import ScheduleFirer
from taskmill.schedules.fire_step import moment_of
from taskmill.schedules.manage import KeptSchedule, put
from taskmill.schedules.read import WantedSchedule
from taskmill.schedules.schedule import Definition
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.enqueued import PostgresRequests
from taskmill.stores.postgres.migrate import migrate
from taskmill.stores.postgres.schedules import PostgresFiring, PostgresSchedules
from taskmill_local.stores import postgres
from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.server import Server
from tests.builders import now_ms
from tests.contracts.conftest import GRACE, MIGRATIONS
from tests.faketime import needs_faketime, shifted_by_file

pytestmark = needs_faketime

T = "default"
PERIOD = 600
HOUR = 3_600


class Clock:
    """A PostgreSQL clock that starts in the middle of a period, far from any instant."""

    def __init__(self, file):
        self._file = file
        self._offset = PERIOD / 2 - now_ms() / 1_000 % PERIOD
        self.jump(0)

    def jump(self, seconds):
        self._offset += seconds
        whole = self._file.with_suffix(".new")
        whole.write_text(f"{self._offset:+.3f}")
        whole.chmod(0o644)
        whole.replace(self._file)


@pytest.fixture
def clock_and_dsn(runner):
    folder = Path(tempfile.mkdtemp(prefix="taskmill-"))
    folder.chmod(0o755)
    prepare_home(folder / "home")
    clock = Clock(folder / "offset")
    environment = shifted_by_file(folder / "offset")
    server = Server("PostgreSQL", folder / "home", environment=environment)
    try:
        dsns = runner.run(postgres.start_postgres(server, durable=False))
        migrate(dsns.owner, MIGRATIONS)
        yield clock, dsns.app
    finally:
        runner.run(server.stop(GRACE))
        shutil.rmtree(folder)


def test_a_clock_that_jumps_fires_what_the_policy_says_and_nothing_twice(clock_and_dsn):
    clock, dsn = clock_and_dsn
    with closing(Database(dsn)) as database:
        scheduling = _Scheduling(database)
        for catch_up in CatchUp:
            scheduling.put(catch_up)
        assert scheduling.fired() == {"none": 0, "one": 0, "all": 0}
        clock.jump(HOUR)
        assert scheduling.fired() == {"none": 0, "one": 1, "all": 6}
        assert scheduling.missed() == {"none": 6, "one": 5, "all": 0}
        clock.jump(-2 * HOUR)
        assert scheduling.fired() == {"none": 0, "one": 0, "all": 0}
        clock.jump(2 * HOUR)
        assert scheduling.fired() == {"none": 0, "one": 0, "all": 0}
        clock.jump(PERIOD / 2 + 1)
        assert scheduling.fired() == {"none": 1, "one": 1, "all": 1}
        assert scheduling.missed() == {"none": 6, "one": 5, "all": 0}
        scheduling.each_came_once_and_not_early()


class _Scheduling:
    def __init__(self, database):
        self._people = PostgresSchedules(database)
        self._firing = PostgresFiring(database)
        self._requests = PostgresRequests(database)

    def put(self, catch_up):
        definition = Definition(
            task=Raw(b'{"type":"echo","payload":{"say":"hi"}}'),
            every_seconds=PERIOD,
            catch_up=catch_up,
            catch_up_window_seconds=24 * HOUR,
        )
        wanted = WantedSchedule(name=str(catch_up), definition=definition, enabled=None)
        assert isinstance(put(wanted, self._people, tenant=T, by="ada"), KeptSchedule)

    def fired(self):
        """Run a scheduler once; return how many instants of each schedule it fired."""
        before = self._tally("fired")
        stores = SimpleNamespace(firing=self._firing)
        ScheduleFirer(stores, cancel=lambda _: True, now=timedelta).fire()
        return {name: count - before[name] for name, count in self._tally("fired").items()}

    def missed(self):
        return self._tally("missed")

    def _tally(self, what):
        return {str(one): getattr(self._people.find(T, str(one)).tally, what) for one in CatchUp}

    def each_came_once_and_not_early(self):
        with self._requests.held(most=100) as held:
            keys = [json.loads(row.request)["idempotency_key"] for row in held.rows]
        assert len(keys) == len(set(keys)) == sum(self._tally("fired").values())
        now = moment_of(self._people.now())
        assert all(datetime.fromisoformat(key.split(":", 2)[2]) <= now for key in keys)
