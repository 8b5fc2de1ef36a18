"""A short `make fuzz` in every run, with a fixed seed: only a code change can fail it."""

import pytest

from tests.fuzz import decoders, front
from tests.fuzz.explore import Target, explore

SECONDS = 5.0  # for each of four targets
SEED = 1


@pytest.fixture(scope="module")
def port():
    with front.a_front() as port:
        yield port


@pytest.mark.parametrize("target", decoders.TARGETS, ids=lambda target: target.name)
def test_nothing_that_is_read_breaks_its_reader(target):
    assert explore(target, seconds=SECONDS, seed=SEED) > 0


@pytest.mark.parametrize("number", [0, 1])
def test_nothing_on_the_line_breaks_the_front(port, number):
    assert explore(front.targets(port)[number], seconds=SECONDS, seed=SEED) > 0


def test_what_breaks_is_found(port):
    def breaks(octets):
        assert b"\xfe" not in octets

    bad = Target("bad", front.targets(port)[0].food, breaks)
    with pytest.raises(AssertionError) as found:
        explore(bad, seconds=60, seed=SEED)
    (note,) = [note for note in found.value.__notes__ if note.startswith("bad broke")]
    answer = int(note.rpartition("=")[2])
    with pytest.raises(AssertionError):
        explore(bad, seconds=60, seed=answer)
