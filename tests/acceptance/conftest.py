"""A running system for the tests of this folder, with its logs when one of them fails."""

import pytest

from tests.acceptance.system import System, a_folder, log_tails, remove


@pytest.fixture(scope="package")
def stack():
    """Yield a system that runs during all tests; `stack.client` sends requests to it."""
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
    """Yield a folder for a separate system; nothing of it outlives the test."""
    folder = a_folder()
    yield folder
    remove(folder)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    answer = getattr(item, "funcargs", {})
    folders = [answer["stack"].folder] if "stack" in answer else []
    folders += [answer["folder"]] if "folder" in answer else []
    if report.failed:
        report.sections += [(f"logs in {folder}", log_tails(folder)) for folder in folders]
    return report
