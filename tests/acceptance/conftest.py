"""A running system for the tests of this folder, and its logs where one of them fails."""

import pytest

from tests.acceptance.system import System, a_folder, remove


@pytest.fixture(scope="session")
def stack():
    """Give a system that stays up for all tests: `stack.client` speaks to it."""
    folder = a_folder()
    system = System(folder)
    try:
        yield system.start()
    finally:
        system.stop()
        remove(folder)


@pytest.fixture
def client(stack):
    return stack.client


@pytest.fixture
def folder():
    """Give a folder for a system of the test's own; nothing of it outlives the test."""
    folder = a_folder()
    yield folder
    remove(folder)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    system = item.funcargs.get("stack") if hasattr(item, "funcargs") else None
    if report.failed and system is not None:
        report.sections.append(("logs of the system", system.log_tails()))
    return report
