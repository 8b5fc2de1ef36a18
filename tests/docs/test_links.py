"""Every link in the documentation has a target."""

import re
from collections import Counter

import pytest
import yaml

from tests.docs.pages import EVERYTHING, PAGES, README, ROOT, anchors, links

_FILE = re.compile(r"`((?:tests|infra|functions|shared|events|localstack|bench|docs)/[\w./-]+)`")


@pytest.mark.parametrize("page", EVERYTHING, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_leads_to_a_file_and_to_a_heading_in_it(page):
    assert [target for target in links(page) if not _leads_somewhere(page, target)] == []


def _leads_somewhere(page, target):
    if re.match(r"https?://", target):
        return True
    path, _, heading = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    return file.is_file() and (not heading or heading in anchors(file))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_names_a_file_that_is_not_there(page):
    assert [path for path in _FILE.findall(page.read_text()) if not (ROOT / path).exists()] == []


def test_pages_of_the_site_link_to_no_page_beyond_it():
    """The site has only what lies in docs; other files are named without a link."""
    beyond = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        if page != README
        for target in links(page)
        if ":" not in target
        and not (page.parent / target.partition("#")[0]).resolve().is_relative_to(ROOT / "docs")
    ]
    assert beyond == []


def test_the_navigation_names_each_page_once():
    """A decision is found on the page of all decisions."""
    text = (ROOT / "mkdocs.yml").read_text()
    nav = yaml.safe_load(text[text.index("nav:") :])["nav"]
    named = Counter(_pages(nav))
    decisions = {f"decisions/{one.name}" for one in (ROOT / "docs/decisions").glob("0*.md")}
    docs = {str(page.relative_to(ROOT / "docs")) for page in PAGES if page != README}
    assert set(named) == docs - decisions
    assert set(named.values()) == {1}
    listed = {f"decisions/{target}" for target in links(ROOT / "docs/decisions/README.md")}
    assert listed == decisions


def _pages(nav):
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [page for part in parts for page in _pages(part)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_list_begins_after_an_empty_line(page):
    """Code hosts do without one; what builds the site does not."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    before = re.findall(r"^(?! *(?:\*|\d+\.) |\|)(\S.*)\n(?:\*|1\.) ", text, re.MULTILINE)
    assert before == []
