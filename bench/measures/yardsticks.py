"""Celery and Dramatiq draining the same payloads on this machine, in the same run."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, TypeAlias

from redis import Redis
from redis.exceptions import RedisError

from bench.children import child, family, held_still
from bench.figures import Better, Figure
from bench.measures.drain import DRAIN
from bench.measures.load import a_task
from bench.sizes import Sizes
from taskmill_local.stores.ports import free_ports
from taskmill_local.stores.valkey import program

ROOT: Final = Path(__file__).parents[2]
PYTHON: Final = ROOT / ".venv-bench" / "bin" / "python"
_SCRIPTS: Final = ROOT / "bench" / "yardsticks"
_WARM_UP_TASKS: Final = 200
_GLANCE_SECONDS: Final = 0.02
_SHOWN_BYTES: Final = 1_000
_DEADLINE_SECONDS: Final = 300
_Store: TypeAlias = "Redis"


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardstick:
    name: str
    script: str
    worker: Sequence[str]
    """The command of its worker: two processes, as for our functions."""

    waiting: Sequence[str]
    """The keys of its waiting and held tasks."""

    least_ratio: float


_YARDSTICKS: Final = (
    Yardstick(
        name="Celery, prefork 2",
        script="celery_echo.py",
        worker=(
            *("celery", "-A", "celery_echo", "worker", "-P", "prefork", "-c", "2"),
            *("--loglevel", "ERROR", "--without-gossip", "--without-mingle", "--without-heartbeat"),
        ),
        waiting=("celery", "unacked"),
        least_ratio=6,
    ),
    Yardstick(
        name="Dramatiq, 2 processes",
        script="dramatiq_echo.py",
        worker=("dramatiq", "dramatiq_echo", "--processes", "2"),
        waiting=("dramatiq:echo.msgs",),  # a message leaves it when it is acknowledged
        least_ratio=1.4,
    ),
)


def measure_yardsticks(sizes: Sizes, *, rate: float) -> list[Figure]:
    """Let each drain its tasks, and compare with *rate*."""
    if not PYTHON.exists():
        sys.stderr.write("Celery and Dramatiq are not installed: `make bench` does it.\n")
        return []
    with _plain_valkey() as url:
        rates = {one: _rate(one, url, sizes.yardstick_tasks) for one in _YARDSTICKS}
    return [figure for one, other in rates.items() for figure in _figures(one, other, rate)]


def _figures(yardstick: Yardstick, other: float, rate: float) -> list[Figure]:
    return [
        Figure(section=DRAIN, name=yardstick.name, value=other, unit="tasks/s", better=Better.MORE),
        Figure(
            section=DRAIN,
            name=f"taskmill, of {yardstick.name}",
            value=rate / other,
            unit="x",
            better=Better.MORE,
            limit=yardstick.least_ratio,
        ),
    ]


def _rate(yardstick: Yardstick, url: str, tasks: int) -> float:
    environment = {**os.environ, "YARDSTICK_BROKER": url, "PYTHONPATH": str(_SCRIPTS)}
    store: _Store = Redis.from_url(url)
    command = (str(PYTHON), "-m", *yardstick.worker)
    with (
        tempfile.TemporaryFile() as log,
        child(*command, environment=environment, folder=_SCRIPTS, complaints=log) as worker,
    ):

        def wait_until_done() -> None:
            deadline = time.monotonic() + _DEADLINE_SECONDS
            while any(store.exists(key) for key in yardstick.waiting):
                if worker.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"{yardstick.name} does not work: {_last_words(log)}")
                time.sleep(_GLANCE_SECONDS)

        _submit(yardstick, environment, _WARM_UP_TASKS)
        wait_until_done()
        with held_still([member.pid for member in family(worker.pid)]):
            _submit(yardstick, environment, tasks)
        began = time.monotonic()
        wait_until_done()
        return tasks / (time.monotonic() - began)


def _submit(yardstick: Yardstick, environment: Mapping[str, str], tasks: int) -> None:
    say = a_task()["payload"]["say"]
    subprocess.run(  # noqa: S603 - our own script
        [PYTHON, _SCRIPTS / yardstick.script, str(tasks), say], env=environment, check=True
    )


def _last_words(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read()[-_SHOWN_BYTES:].decode(errors="replace")


@contextmanager
def _plain_valkey() -> Iterator[str]:
    """Start a server like ours but not in cluster mode, which neither of them supports."""
    (port,) = free_ports(1)
    settings = {"bind": "127.0.0.1", "port": str(port), "appendonly": "yes", "save": ""}
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    with (
        tempfile.TemporaryDirectory(prefix="taskmill-bench-") as folder,
        child(str(program()), *words, environment={"PATH": os.defpath}, folder=Path(folder)),
    ):
        url = f"redis://127.0.0.1:{port}/0"
        _wait_until_up(url)
        yield url


def _wait_until_up(url: str) -> None:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while True:
        try:
            Redis.from_url(url).ping()
        except RedisError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_GLANCE_SECONDS)
        else:
            return
