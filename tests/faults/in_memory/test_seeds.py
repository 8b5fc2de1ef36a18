"""Random runs can be reproduced: the seed is printed, and can be given."""

from tests.faults.run import SEED, a_seed


def test_a_seed_is_told_when_it_is_drawn(monkeypatch, capsys):
    monkeypatch.delenv(SEED, raising=False)
    first, second = a_seed(), a_seed()
    assert capsys.readouterr().out.splitlines() == [f"seed {first}", f"seed {second}"]
    assert first != second


def test_a_seed_that_is_named_is_taken(monkeypatch):
    monkeypatch.setenv(SEED, "4711")
    assert a_seed() == 4711
