"""What the fault tests share: one system."""

import asyncio

import pytest

from tests.acceptance.system import a_folder, log_tails, remove
from tests.faults.run import Run
from tests.faults.stack import Stack


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
