"""Collects what the fault tests measured, by promise, and tells it at the end of a run."""

import json
import os
from collections import defaultdict
from pathlib import Path

SETTING = "TASKMILL_FIGURES"
"""Names a file that gets the figures of a whole run as JSON."""


class Figures:
    def __init__(self):
        self._told = defaultdict(list)

    def tell(self, promise, sentence):
        self._told[promise].append(sentence)

    def lines(self):
        return [f"{promise}: {one}" for promise, told in sorted(self._told.items()) for one in told]

    def write(self):
        if place := os.environ.get(SETTING):
            Path(place).write_text(json.dumps(self._told, indent=2, sort_keys=True) + "\n")
