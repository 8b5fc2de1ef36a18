"""A running system for the tests of this folder, and its logs where one of them fails."""

import pytest

from tests.acceptance.system import System, a_folder, log_tails, remove


@pytest.fixture(scope="package")
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
    told = getattr(item, "funcargs", {})
    folders = [told["stack"].folder] if "stack" in told else []
    folders += [told["folder"]] if "folder" in told else []
    if report.failed:
        report.sections += [(f"logs in {folder}", log_tails(folder)) for folder in folders]
    return report
