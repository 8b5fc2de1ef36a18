"""Benchmark figures: their validity, tables, and the comparison of two versions."""

import pytest

from bench.against import compared, comparison_table
from bench.figures import Better, Figure, number, percentile, table


def a_figure(value, *, name="single", section="submit", better=Better.LESS, limit=None):
    return Figure(section=section, name=name, value=value, unit="ms", better=better, limit=limit)


@pytest.mark.parametrize(
    ("better", "value", "holds"),
    [
        (Better.LESS, 250, True),
        (Better.LESS, 251, False),
        (Better.MORE, 250, True),
        (Better.MORE, 249, False),
    ],
)
def test_a_figure_holds_on_the_better_side_of_its_limit(better, value, holds):
    assert a_figure(value, better=better, limit=250).holds is holds


def test_a_figure_without_a_limit_neither_holds_nor_misses():
    assert a_figure(1).holds is None


def test_the_table_gathers_each_section_and_says_what_was_missed():
    figures = [
        a_figure(7, limit=6),
        a_figure(20_000, section="drain", better=Better.MORE),
        a_figure(5, name="bare", limit=6),
    ]
    assert table(figures).splitlines() == [
        "",
        "submit",
        "  single          7 ms        ≤ 6: MISSED",
        "  bare            5 ms        ≤ 6: holds",
        "",
        "drain",
        "  single     20,000 ms",
    ]


@pytest.mark.parametrize(
    ("value", "written"), [(12_345.6, "12,346"), (99.94, "99.9"), (0.4567, "0.457"), (0, "0")]
)
def test_a_number_is_written_with_three_digits_or_whole(value, written):
    assert number(value) == written


def test_a_percentile_is_a_value_that_was_measured():
    values = [float(value) for value in range(1, 101)]
    assert [percentile(values, percent) for percent in (0, 50, 99, 100)] == [1, 51, 100, 100]


def test_versions_are_compared_by_the_medians_of_what_both_measure():
    ours = [a_figure(1, name="new"), *map(a_figure, (1, 90, 2))]
    theirs = [a_figure(1, name="old"), *map(a_figure, (4, 4, 90))]

    (comparison,) = compared(ours, theirs)

    assert (comparison.here.value, comparison.there, comparison.ratio) == (2, 4, 0.5)
    assert comparison.spread == (2 / 90, 90 / 4)


@pytest.mark.parametrize(
    ("better", "value", "verdict"),
    [
        (Better.LESS, 8, "better"),
        (Better.LESS, 12, "worse"),
        (Better.MORE, 12, "better"),
        (Better.MORE, 8, "worse"),
        (Better.MORE, 10.1, ""),
    ],
)
def test_a_comparison_says_which_version_is_better(better, value, verdict):
    (comparison,) = compared([a_figure(value, better=better)], [a_figure(10, better=better)])
    assert comparison.verdict == verdict


def test_a_figure_that_was_nothing_before_has_no_ratio():
    answer = comparison_table(compared([a_figure(1)], [a_figure(0)]), "main")
    assert answer.splitlines()[-1].split() == ["single", "0", "1", "-", "-"]


def test_a_comparison_shows_the_spread_of_its_rounds():
    answer = comparison_table(
        compared([*map(a_figure, (9, 12, 10))], [*map(a_figure, (10, 10, 10))]), "main"
    )
    assert "0.90 to 1.20" in answer.splitlines()[-1]
