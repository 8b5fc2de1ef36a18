"""The README is short and begins with the first steps."""

import re

from tests.docs.pages import README, blocks

LONGEST = 200


def test_it_is_read_in_a_few_minutes():
    assert len(README.read_text().splitlines()) <= LONGEST


def test_the_two_commands_are_the_first_that_it_names():
    first = next(blocks(README))
    assert re.findall(r"^make \w+", first.text, re.MULTILINE) == ["make demo", "make test"]


def test_it_says_what_it_promises_in_ten_lines():
    _, _, rest = README.read_text().partition("## What it promises")
    section, _, _ = rest.partition("\n## ")
    assert re.findall(r"^(\d+)\. ", section, re.MULTILINE) == [str(n) for n in range(1, 11)]
