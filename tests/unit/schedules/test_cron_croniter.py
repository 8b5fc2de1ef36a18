"""Cron expressions mean the same as in croniter."""

import random
from datetime import datetime, timedelta
from itertools import islice

import pytest
from croniter import croniter

from taskmill.schedules.read_cron import read_cron
from tests.unit.schedules.test_cron_expression import FAR

SINCE = datetime.fromisoformat("2027-02-26T22:57:58")
HIGHEST = {"minute": 59, "hour": 23, "date": 31, "month": 12, "weekday": 6, "second": 59}


@pytest.mark.parametrize("seed", range(12))
def test_random_expressions_name_what_croniter_finds(seed):
    draw = random.Random(seed)
    for _ in range(25):
        expression = an_expression(draw)
        walk = croniter(expression, SINCE - timedelta(seconds=1))
        found = [walk.get_next(datetime) for _ in range(20)]
        assert list(islice(read_cron(expression).readings(SINCE, FAR), 20)) == found, expression


def an_expression(draw):
    """Return an expression with frequent readings: rare dates take long to search."""
    fields = {name: a_field(draw, name) for name in HIGHEST}
    if draw.random() < 0.5:
        fields[draw.choice(["date", "weekday"])] = "*"
    if draw.random() < 0.5:
        del fields["second"]
    return " ".join(fields.values())


def a_field(draw, name):
    if draw.random() < 0.4:
        return "*"
    return ",".join({a_part(draw, name) for _ in range(draw.randint(1, 3))})


def a_part(draw, name):
    low, high = int(name in {"date", "month"}), HIGHEST[name]
    if name == "date":
        high = 28  # each month has them
    first = draw.randint(low + 1, high - 1)  # a range of all is a star to croniter, beside a day
    last, step = draw.randint(first + 1, high), draw.randint(2, 9)
    return draw.choice([f"{first}", f"{first}-{last}", f"*/{min(step, high)}", f"{first}-{last}/2"])
