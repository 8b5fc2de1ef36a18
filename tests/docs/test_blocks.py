"""Every code block (Python, shell, SQL, HTTP) runs in a test, or states why not."""

import re

import pytest

from tests.docs.pages import PAGES, ROOT, blocks, blocks_of

RUN = {"python", "sh", "sql", "http"}
SHOWN = {"text", "json", "yaml", "mermaid"}
ALWAYS_RUN = {"python", "sh"}
"""What runs without being asked for, in `test_workers.py` and `tests/acceptance/test_docs.py`."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_block_says_what_it_is(page):
    assert {one.language for one in blocks(page)} <= RUN | SHOWN
    fences = re.findall(r"^ *```", page.read_text(), re.MULTILINE)
    assert len(fences) == 2 * len(list(blocks(page)))


@pytest.mark.parametrize("block", blocks_of(*RUN - ALWAYS_RUN), ids=lambda block: block.place)
def test_each_other_block_says_what_runs_it_or_why_nothing_does(block):
    assert block.excuse or block.runner


@pytest.mark.parametrize("block", blocks_of(*RUN), ids=lambda block: block.place)
def test_each_mark_has_a_reason_or_names_a_test(block):
    assert not block.mark or block.excuse or block.runner
    assert block.runner is None or (ROOT / block.runner).is_file()
