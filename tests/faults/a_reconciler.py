"""Compares ledger and Redis in a separate process: `python a_reconciler.py <disagreements>`.

It runs until it has repaired that many, and prints how many of each kind.
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
