"""What the fault tests share: one system, and their figures."""

import asyncio

import pytest

from tests.acceptance.system import a_folder, log_tails, remove
from tests.faults.figures import Figures
from tests.faults.run import Run
from tests.faults.stack import Stack

MOST_MINUTES = 25
_FIGURES = pytest.StashKey[Figures]()


@pytest.fixture(scope="session")
def figures(request):
    """Take figures, which the end of the run tells: `figures.tell("P1", "…")`."""
    return request.config.stash.setdefault(_FIGURES, Figures())


@pytest.fixture(scope="package")
def stack():
    """Give the system that all fault tests share."""
    folder = a_folder()
    with asyncio.Runner() as runner:
        stack = Stack(folder, runner)
        try:
            yield stack.start()
        finally:
            stack.stop()
            remove(folder)


@pytest.fixture
def run(stack):
    """Give a workload of the test's own, on a system whose schedulers work.

    A test that ended all of them leaves none until the next minute's rule.
    """
    stack.await_schedulers()
    yield Run(stack)
    stack.disarm()


@pytest.fixture
def scheduler(stack):
    """Start schedulers of the test's own, which end with it."""
    started = []

    def start(crash_at="", **variables):
        started.append(stack.spawn_scheduler(crash_at=crash_at, **variables))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    stack = getattr(item, "funcargs", {}).get("stack")
    if report.failed and stack is not None:
        report.sections.append((f"logs in {stack.folder}", log_tails(stack.folder)))
    return report


def _seconds(report):
    """Return what a part of a fault test took; the shared system's start is one of them."""
    is_ours = getattr(report, "nodeid", "").startswith("tests/faults/")
    return getattr(report, "duration", 0.0) if is_ours else 0.0


def pytest_terminal_summary(terminalreporter, config):
    figures = config.stash.get(_FIGURES, None)
    if figures and figures.lines():
        spent = sum(_seconds(report) for some in terminalreporter.stats.values() for report in some)
        figures.tell(
            "wall time", f"{spent / 60:.1f} minutes under faults, {MOST_MINUTES} are meant"
        )
        terminalreporter.section("figures")
        for line in figures.lines():
            terminalreporter.write_line(line)
        figures.write()
