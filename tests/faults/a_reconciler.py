"""Compares ledger and Redis as a process of a test's own; `python a_reconciler.py <disagreements>`.

It looks until it has mended so many, and writes how many of each kind.
"""

import json
import sys
import time
from collections import Counter

from taskmill.platform import process
from taskmill.recovery.reconcile import Reconciler

NEEDS = ("kafka", "redis", "postgres")
reconciler = Reconciler(process.stores("reconciling", needs=NEEDS))
mended: Counter[str] = Counter()
while mended.total() < int(sys.argv[1]):
    mended.update(reconciler.reconcile())
    time.sleep(0.5)
sys.stdout.write(json.dumps(mended))
