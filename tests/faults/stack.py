"""One whole system for all fault tests: processes crash on request, stores stop and return."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from threading import Event, Thread

import psutil
import psycopg

from taskmill.core import topics
from taskmill.core.owed import Cold
from taskmill.core.task import TaskId
from taskmill.stores.crash import EXIT_CODE
from taskmill.stores.redis.keys import lane_keys, shard_keys
from taskmill.stores.redis.records import RedisRecords
from taskmill.stores.redis.session import Session
from taskmill_local.settings import SHARDS
from tests.acceptance.system import System
from tests.faults.effects import Effects
from tests.faults.ground import Ground
from tests.faults.log import Readers
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
PARTS = ("functions", "infra", "localstack", "shared")
PROBE = Path("tests/faults/probe")
SCHEDULER = Path(__file__).with_name("a_scheduler.py")
A_RECONCILER = Path(__file__).with_name("a_reconciler.py")
DOCTOR = Path(__file__).with_name("a_doctor.py")
NURSERY = Path(__file__).with_name("a_nursery.py")
A_WORKER = Path(__file__).with_name("a_worker.py")
PACE = {
    "TASKMILL_LEASE_MS": "4000",
    "TASKMILL_HEARTBEAT_MS": "1000",
    "TASKMILL_TICK_MS": "50",
    "TASKMILL_BACKOFF_SECONDS": "1",
}
"""A lease of 4 s, a tick of 50 ms: what a deployment waits for, in less time."""

LEASE_SECONDS = 4.0
OUTBOX_CAP = 2_000
"""So few tasks may wait for Kafka that a test can bring more."""

WORKER = "ProbeWorker"
PLACES = 50
ONE_PARTITION, ONE_PLACE = "slim", "lone"
TYPES = {
    "probe": {},
    ONE_PARTITION: {"partitions": 1},
    ONE_PLACE: {"partitions": 1, "places": 1},
}
"""The types of the shared system: all are probes, two of them with fewer processes or places."""

_EVENTS = re.compile(r"^    Events:\n(?:      .*\n)+", re.MULTILINE)

_RECEIPTS = """
CREATE TABLE receipts (
    token text NOT NULL,
    label text NOT NULL,
    generation bigint NOT NULL,
    -- Handlers get the key for this purpose: a different key would create a second receipt.
    PRIMARY KEY (token, generation)
);
GRANT SELECT, INSERT ON receipts TO taskmill_app
"""


def await_death(process):
    eventually(lambda: process.poll() is not None, within=60, reason="it died")
    assert process.returncode == EXIT_CODE


class Running:
    """The processes of a running system, with a client."""

    def functions(self):
        return self.client.platform()["functions"]

    def pids(self, *names):
        answer = self.functions()
        return [pid for name in names or answer for pid in answer[name]["pids"]]

    def signal(self, number, *names):
        """Signal every process of these functions; return how many there were."""
        pids = self.pids(*names)
        for pid in pids:
            _send(pid, number)
        return len(pids)


class Version(Running):
    """Another version of the code with a platform of its own; the stores are shared."""

    def __init__(self, folder, settings):
        self.project = folder / "project"
        code = {"TASKMILL_ROOT": str(self.project), "PYTHONPATH": _path_of(self.project)}
        self._system = System(folder, **code, **PACE, **settings)

    def start(self):
        self.client = self._system.start().client
        return self

    def stop(self):
        self._system.stop()


def _path_of(project):
    """Return where Python finds the code of a project, its local platform included."""
    return os.pathsep.join(str(project / one) for one in ("", "shared", "localstack"))


def _assemble(project):
    environment = os.environ | {"PYTHONPATH": _path_of(project)}
    command = [sys.executable, "infra/assemble.py"]
    subprocess.run(command, cwd=project, env=environment, check=True)


def _undeploy(project, functions):
    """Take functions out of the template; the others know all types, as in a whole deployment."""
    known = {path: path.read_bytes() for path in (project / "shared/taskmill").rglob("*.json")}
    for name in functions:
        folder = project / "functions" / name
        if name == "scheduler":  # the platform shows its settings: only nobody calls it
            place = folder / "function.yaml"
            place.write_text(_EVENTS.sub("", place.read_text(), count=1))
        else:
            shutil.rmtree(folder)
    _assemble(project)
    for path, text in known.items():
        path.write_bytes(text)
    (project / "infra/assemble.py").unlink()  # else the platform would call the template stale


def _let_know(folder, **variables):
    """Give a function of a copied project data that the others lack."""
    place, mark = folder / "function.yaml", "      Variables:\n"
    answer = place.read_text()
    assert answer.count(mark) == 1
    lines = "".join(f"        {name}: '{value}'\n" for name, value in variables.items())
    place.write_text(answer.replace(mark, mark + lines))


def _names_its_type(folder):
    """Tell a worker of a version before 0.2.0, and give it its name: it had a whole template."""
    place = folder / "function.yaml"
    text = place.read_text()
    if "      Variables:\n" not in text:
        return False
    place.write_text(text.replace("echo", folder.name).replace("Echo", folder.name.capitalize()))
    return True


def _let_worker_know(folder, **variables):
    lines = "".join(f"  {name}: '{value}'\n" for name, value in variables.items())
    with (folder / "function.yaml").open("a") as place:
        place.write(f"Environment:\n{lines}")


class Stack(Running):
    def __init__(self, folder, runner):
        self.folder = folder
        self.effects = Effects(folder / "effects" / "all.jsonl")
        self.ground = Ground(folder / "ground", runner)
        self.project = folder / "project"
        self._system = None
        self._ordered = set()

    def start(self):
        self.ground.start()
        self.effects.path.parent.mkdir()
        self.copy_project(self.project, TYPES)
        settings = {"TASKMILL_ROOT": str(self.project)} | PACE | self.ground.settings
        self._system = System(self.folder, **settings).start()
        self.client = self._system.client
        with psycopg.connect(self.ground.own_dsn) as connection:
            connection.execute(_RECEIPTS)
        self.await_rebuild()
        return self

    def await_schedulers(self):
        """Wait until one works: if all died, the next minute's rule starts one."""
        eventually(
            lambda: self.functions()["Scheduler"]["busy"], within=90, reason="a scheduler works"
        )

    def forget_redis(self):
        """Empty Redis: it is then cold until it is rebuilt."""
        session = Session(self.ground.own_redis_url)
        session.command("FLUSHALL")
        session.close()

    def await_rebuild(self, within=60):
        """Wait until Redis serves every shard and lane: new ones are rebuilt from the ledger."""
        ids = [TaskId(f"00000000-0000-7000-8000-{shard:012x}") for shard in range(SHARDS)]
        eventually(
            lambda: Cold() not in self.records(ids), within=within, reason="the shards are open"
        )
        eventually(self.lanes_are_live, within=within, reason="the lanes are open")

    def lanes_are_live(self):
        """Return whether the lane of every type serves, as far as its marker says."""
        session = Session(self.ground.own_redis_url)
        try:
            run_id = session.run_id().encode()
            markers = [session.command("GET", lane_keys(one).marker) for one in self.types()]
        finally:
            session.close()
        return all(marker == run_id for marker in markers)

    def types(self):
        """Return the names of the deployed types."""
        return [path.parent.name for path in self.project.glob("functions/workers/*/handler.py")]

    def stop(self):
        if self._system is not None:
            self._system.stop()
        self.ground.stop()

    @contextmanager
    def away(self):
        """Stop this version meanwhile; the stores stay."""
        self._system.stop()
        try:
            yield
        finally:
            self.client = self._system.start().client

    def another_version(self):
        return Version(Path(mkdtemp(dir=self.folder)), self.ground.settings)

    def copy_project(self, project, types=("probe",), source=ROOT, without=()):
        """Follow the README's steps for new types in a copy: all of them are probes.

        Some functions may stay undeployed, by their folders.
        """
        for part in PARTS:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source / part, project / part, ignore=ignored)
        for name in types:
            self._add_type(project / "functions/workers" / name, source, **TYPES.get(name, {}))
        _let_know(project / "functions/gateway", TASKMILL_OUTBOX_CAP=OUTBOX_CAP)
        _assemble(project)
        if without:
            _undeploy(project, without)

    def _add_type(self, folder, source, *, partitions=None, places=PLACES):
        shutil.copytree(source / PROBE, folder)
        handler = folder / "handler.py"
        handler.write_text(handler.read_text().replace("workers.probe", f"workers.{folder.name}"))
        shutil.copy(folder.with_name("echo") / "function.yaml", folder)
        let_know = _let_worker_know
        if _names_its_type(folder):
            let_know = _let_know
        let_know(
            folder,
            PROBE_EFFECTS=self.effects.path,
            PROBE_DSN=self.ground.dsn("taskmill_app"),
            PROBE_CONCURRENCY=places,
        )
        if partitions is not None:
            with (folder / "function.yaml").open("a") as place:
                place.write(f"Partitions: {partitions}\n")

    # What runs, and how it dies

    @contextmanager
    def standing_still(self, function):
        """Stop every process of a function, including new ones; then continue them all."""
        is_over, stopped = Event(), set()

        def stop():
            for pid in set(self.pids(function)) - stopped:
                _send(pid, signal.SIGSTOP)
                stopped.add(pid)

        def go_on():
            while not is_over.wait(0.05):
                stop()

        stop()
        thread = Thread(target=go_on)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()
            for pid in stopped:
                _send(pid, signal.SIGCONT)

    def arm(self, function, point, nth):
        """Let the next process of *function* crash at that point, and start it next."""
        return self.order(function, TASKMILL_CRASH_AT=f"{point}:{nth}")

    def order(self, function, **variables):
        """Set variables for the next process of *function*, and start it next."""
        order = self.folder / "home" / "orders" / function
        order.parent.mkdir(exist_ok=True)
        waiting = order.with_suffix(".waiting")
        waiting.write_text("".join(f"{name}={value}\n" for name, value in variables.items()))
        waiting.rename(order)
        self._ordered.add(order)
        self.signal(signal.SIGKILL, function)
        return order

    def disarm(self):
        """Withdraw orders that nobody took, and end processes that still have to crash."""
        functions = {order.name for order in self._ordered}
        for order in self._ordered:
            order.unlink(missing_ok=True)
        self._ordered.clear()
        for pid in self.pids(*functions) if functions else ():
            with suppress(psutil.Error):
                if "TASKMILL_CRASH_AT" in psutil.Process(pid).environ():
                    _send(pid, signal.SIGKILL)

    def spawn_scheduler(self, seconds=60, crash_at="", *flags, **variables):
        """Start a separate scheduler beside the platform's."""
        with self._own_log("scheduler") as log:
            return subprocess.Popen(
                [sys.executable, "-P", str(SCHEDULER), str(seconds), *flags],
                env=self._own_environment(TASKMILL_CRASH_AT=crash_at, **variables),
                stdout=log,
                stderr=log,
            )

    def spawn_nursery(self, most_per_shard):
        """Start the parent of schedulers, which skips the time that a start takes."""
        with self._own_log("scheduler") as log:
            return subprocess.Popen(
                [sys.executable, "-P", str(NURSERY), str(most_per_shard)],
                env=self._own_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def examine(self, ids):
        """Compare ledger, log and Redis as `taskmill doctor` does; return what persists."""
        answer = subprocess.run(
            [sys.executable, "-P", str(DOCTOR)],
            env=self._own_environment(),
            input="\n".join(ids),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=120,
        )
        return answer.stdout.splitlines()

    def spawn_worker(self, seconds, kind="probe", log=subprocess.PIPE, **variables):
        """Start a separate worker, which reads one event and writes its response."""
        return subprocess.Popen(
            [sys.executable, "-P", str(A_WORKER), kind, str(seconds)],
            env=self._own_environment(PROBE_EFFECTS=self.effects.path, **variables),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def reconcile(self, count, within=120):
        """Let another process repair that many disagreements; return how many of each kind."""
        with self._own_log("reconciler") as log:
            answer = subprocess.run(
                [sys.executable, "-P", str(A_RECONCILER), str(count)],
                env=self._own_environment(),
                stdout=subprocess.PIPE,
                stderr=log,
                timeout=within,
                check=True,
            )
        return json.loads(answer.stdout)

    def _own_log(self, name):
        return (self.folder / "home" / "logs" / f"own-{name}.log").open("ab")

    def _own_environment(self, **more):
        path = (self.project, self.project / "shared")
        answer = {
            "PATH": os.environ["PATH"],
            # No payload of these tests is that large: the bucket is named, and nobody calls it.
            "TASKMILL_BUCKET": "payloads",
            "TASKMILL_BUCKET_ENDPOINT": "http://127.0.0.1:1",
            "PYTHONPATH": os.pathsep.join(map(str, path)),
            "TASKMILL_SHARDS": str(SHARDS),
        }
        more = {name: str(value) for name, value in more.items()}
        return answer | PACE | self.ground.settings | more

    def log(self, function):
        """Return a function's recent log, including the rotated one."""
        log = self.folder / "home" / "logs" / f"{function}.log"
        both = (log.with_name(f"{log.name}.1"), log)
        return "".join(one.read_text() for one in both if one.exists())

    def counted(self, name, **labels):
        """Return the sum of a counter over all labels but these."""
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        lines = self.client.get("/metrics").text.splitlines()
        return sum(
            float(line.rpartition(" ")[2])
            for line in lines
            if re.match(rf"{name}[{{ ]", line) and all(one in line for one in wanted)
        )

    def lag(self):
        return self.client.platform()["lag"]

    def come_to_rest(self, within=60):
        """Wait until every mapping has read and committed its topic.

        Mappings are checked in the order in which their functions write for each other.
        """
        answer = (one["topic"] for one in self.client.platform()["mappings"].values())
        types = {kind for topic in answer if (kind := topics.type_of(topic))}
        workers = map(topics.worker_of, sorted(types))
        readers = Readers(self)
        for reader in (topics.INBOX_READER, topics.DISPATCHER, *workers, *topics.RECORDERS):
            eventually(
                partial(readers.has_read_all, reader),
                within=within,
                reason=f"{reader.name} is done",
            )

    # What it left

    def left(self, labels):
        """Return the lines that handlers wrote under these labels."""
        return self.effects.under(labels)

    def ask(self, query, *values):
        with psycopg.connect(self.ground.own_dsn, autocommit=True) as connection:
            return connection.execute(query, values).fetchall()

    def rewrite_records(self, ids, **fields):
        """Falsify the records of tasks in Redis."""
        session = Session(self.ground.own_redis_url)
        words = [word for field in fields.items() for word in field]
        for task_id in ids:
            session.command("HSET", shard_keys(task_id, SHARDS).record(task_id), *words)
        session.close()

    def overwrite(self, keys):
        """Let something else write to keys of the queue in Redis."""
        session = Session(self.ground.own_redis_url)
        for key in keys:
            session.command("SET", key, "of another type")
        session.close()

    def records(self, ids):
        session = Session(self.ground.own_redis_url)
        try:
            return RedisRecords(session, shards=SHARDS).read(ids)
        finally:
            session.close()


def _send(pid, number):
    with suppress(ProcessLookupError):
        os.kill(pid, number)
