"""The one system that the fault tests share."""

import asyncio

import pytest

from tests.acceptance.system import a_folder, log_tails, remove
from tests.faults.run import Run
from tests.faults.stack import Stack


@pytest.fixture(scope="package")
def stack():
    """Yield the system that all fault tests share."""
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
    """Yield a workload for one test, on a system whose schedulers work.

    If a test ended all of them, there is none until the next minute's rule.
    """
    stack.await_schedulers()
    yield Run(stack)
    stack.disarm()


@pytest.fixture
def scheduler(stack):
    """Start schedulers for one test, which end with it."""
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
