"""Checks the tasks named on standard input for disagreements that the reconciler would repair.

It checks again as long as a disagreement may pass, reports the persistent ones, and changes
nothing.
"""

import sys
import time

from taskmill.platform import process
from taskmill.recovery.reconcile import Reconciler

AT_A_TIME = 1_000
SECONDS_BETWEEN = 0.5

ids = sys.stdin.read().split()
reconciler = Reconciler(process.stores("doctor", needs=("kafka", "redis", "postgres")))
while True:
    pages = (
        reconciler.stores.task_versions.of(ids[at : at + AT_A_TIME])
        for at in range(0, len(ids), AT_A_TIME)
    )
    found = [one for one in reconciler.look(pages) if one.task_version.id in ids]
    if found or not reconciler.suspected.keys() & set(ids):
        break
    time.sleep(SECONDS_BETWEEN)
for one in found:
    print(one)  # noqa: T201 - the answer
