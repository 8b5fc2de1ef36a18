"""The jobs of a starting scheduler open their stores concurrently."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
STORES = {
    "TASKMILL_KAFKA_BROKERS": "127.0.0.1:9092",
    "TASKMILL_REDIS_URL": "redis://127.0.0.1:6379/0",
    "TASKMILL_POSTGRES_DSN": "postgresql://app@127.0.0.1/taskmill",
    "TASKMILL_BUCKET": "payloads",
    "TASKMILL_BUCKET_ENDPOINT": "http://127.0.0.1:9000",
}
PORTS = ("whole_rows", "outbox", "shards", "archive", "log_ends", "blobs")
"""Every store; whole_rows and outbox enter psycopg by two of its modules."""

AT_ONCE = f"""
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from functions.scheduler.jobs import JOBS

openers = [job.opener for job in JOBS if job.is_slow]
every = [opener.stores() for opener in openers]  # as the scheduler does at its start
start = Barrier(len(every))
ports = {PORTS!r}


def open_all(opener, stores, first):
    start.wait()
    for name in ports[first:] + ports[:first]:
        if name != "blobs" or "s3" in opener.needs:
            stores.opened(name)


sys.setswitchinterval(1e-6)
with ThreadPoolExecutor(len(every)) as threads:
    first = [number % len(ports) for number in range(len(every))]
    list(threads.map(open_all, openers, every, first))
"""


def test_every_job_opens_its_stores_though_all_begin_at_once():
    """Drivers such as psycopg fail when two threads are the first to import them."""
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", AT_ONCE],
            cwd=ROOT,
            env=os.environ | STORES,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
