"""The one system that the fault tests share."""

import asyncio
import os

import pytest

from tests.acceptance.system import a_folder, log_tails, remove
from tests.faults.run import Run
from tests.faults.stack import Stack
from tests.faults.versions import code_of


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


@pytest.fixture
def before(tmp_path):
    """Yield the code of the release that the environment names."""
    reference = os.environ.get("AGAINST")
    if not reference:
        pytest.skip("`make prove NAME=rolling-deploy AGAINST=<git ref>` names another release")
    with code_of(reference, tmp_path / "code") as folder:
        yield folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    stack = getattr(item, "funcargs", {}).get("stack")
    if report.failed and stack is not None:
        for home in stack.folder.rglob("home"):  # of another version, too
            report.sections.append((f"logs in {home.parent}", log_tails(home.parent)))
    return report
