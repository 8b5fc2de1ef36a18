"""What the fault tests share: their figures."""

import pytest

from tests.faults.figures import Figures

_FIGURES = pytest.StashKey[Figures]()


@pytest.fixture(scope="session")
def figures(request):
    """Take figures, which the end of the run tells: `figures.tell("P1", "…")`."""
    return request.config.stash.setdefault(_FIGURES, Figures())


def pytest_terminal_summary(terminalreporter, config):
    figures = config.stash.get(_FIGURES, None)
    if figures and figures.lines():
        terminalreporter.section("figures")
        for line in figures.lines():
            terminalreporter.write_line(line)
        figures.write()
