"""Collects the measurements of fault tests by promise, and prints them at the end of a run."""

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

from tests.lanes import is_under_faults

SETTING = "TASKMILL_FIGURES"
"""Names a file that gets the figures of a whole run as JSON."""

MOST_MINUTES = 30
_FIGURES = pytest.StashKey["Figures"]()
_TOLD = "figures"


class Figures:
    def __init__(self):
        self.told = defaultdict(list)

    def tell(self, promise, sentence):
        self.told[promise].append(sentence)

    def lines(self):
        return [f"{promise}: {one}" for promise, told in sorted(self.told.items()) for one in told]

    def write(self):
        if place := os.environ.get(SETTING):
            Path(place).write_text(json.dumps(self.told, indent=2, sort_keys=True) + "\n")


@pytest.fixture(scope="session")
def figures(request):
    """Yield a collector that is printed at the end of the run: `figures.tell("P1", "…")`."""
    return _of(request.config)


def pytest_sessionfinish(session):
    """Pass the figures of one test process to the main one."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[_TOLD] = dict(_of(session.config).told)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    for promise, told in getattr(node, "workeroutput", {}).get(_TOLD, {}).items():
        for sentence in told:
            _of(node.config).tell(promise, sentence)


def pytest_terminal_summary(terminalreporter, config):
    figures = _of(config)
    if figures.lines():
        spent = sum(_seconds(report) for some in terminalreporter.stats.values() for report in some)
        figures.tell(
            "wall time", f"{spent / 60:.1f} minutes under faults, {MOST_MINUTES} are meant"
        )
        terminalreporter.section("figures")
        for line in figures.lines():
            terminalreporter.write_line(line)
        figures.write()


def _of(config):
    return config.stash.setdefault(_FIGURES, Figures())


def _seconds(report):
    """Return the duration of a phase of a fault test, including the shared system's start."""
    is_ours = is_under_faults(getattr(report, "nodeid", ""))
    return getattr(report, "duration", 0.0) if is_ours else 0.0
