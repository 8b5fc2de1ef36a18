"""Lists have known parameters, and a cursor leads to the next page of the same list."""

from base64 import b64decode, urlsafe_b64encode

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from functions.gateway.http.paging import PAGE_BYTES, Mark, cursor_after
from functions.gateway.http.problem import Problem
from functions.gateway.listing import page_as_json, read_filter
from taskmill.core.task import Millis, Status, TaskId, TaskType
from taskmill.core.view import Ending
from taskmill.ledger.listing import After, Page, TaskFilter
from tests.unit.gateway.tasks import CREATED, ID, a_view

HERE = After(Millis(CREATED), ID)
MARK = Mark(Millis(CREATED), ID)


def test_nothing_asked_for_is_the_first_usual_page_of_everything():
    assert read_filter({}) == TaskFilter(
        tenant="default",
        type=None,
        status=None,
        metadata={},
        created_after_ms=None,
        created_before_ms=None,
        after=None,
        limit=50,
    )


def test_every_word_of_a_filter_is_taken():
    asked = {
        "type": "echo",
        "status": "dead",
        "metadata.who": "me",
        "created_after": "2026-11-06T22:20:00.123+01:00",
        "created_before": "2026-11-06T21:20:00.123Z",
        "limit": "7",
    }
    assert read_filter(asked) == TaskFilter(
        tenant="default",
        type=TaskType("echo"),
        status=Status.DEAD,
        metadata={"who": "me"},
        created_after_ms=Millis(CREATED),
        created_before_ms=Millis(CREATED),
        after=None,
        limit=7,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tenant", "other"),
        ("Status", "dead"),
        ("metadata", "x"),
        ("metadata.", "x"),
        ("limit", "201"),
        ("limit", str(10**9)),
        ("limit", "9" * 5_000),
        ("", ""),
        ("status", ""),
        ("status", "DEAD"),
        ("status", "dead,queued"),
        ("type", "a\x00b"),
        ("metadata.k", "\x00"),
        ("metadata.\x00", "v"),
        ("created_after", ""),
        ("created_after", "yesterday"),
        ("created_after", "2026-11-06T21:20:00"),
        ("created_after", "2026-11-06"),
        ("created_before", "2026-11-06T23:59:60Z"),
        ("created_before", "10000-01-01T00:00:00Z"),
        ("created_before", "1794000000"),
        ("created_before", "-1"),
        ("created_before", "1e18"),
        ("limit", ""),
        ("limit", "0"),
        ("limit", "000"),
        ("limit", "-1"),
        ("limit", "1.5"),
        ("limit", "1e3"),
        ("limit", " 1"),
        ("limit", "٣"),
        ("limit", "NaN"),
    ],
)
def test_a_word_that_is_not_understood_is_refused_by_name(name, value):
    found = read_filter({name: value})
    assert isinstance(found, Problem), found
    assert (found.status, found.type, found.field) == (422, "invalid_request", name)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("1", 1),
        ("200", 200),
        ("0" * 12 + "3", 3),
    ],
    ids=lambda case: str(case)[:15],
)
def test_a_page_has_at_most_200_tasks(text, limit):
    found = read_filter({"limit": text})
    assert isinstance(found, TaskFilter)
    assert found.limit == limit


@pytest.mark.parametrize(
    "edge", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999-23:59"]
)
def test_the_edges_of_the_calendar_are_times(edge):
    assert isinstance(read_filter({"created_after": edge}), TaskFilter)


def test_a_cursor_leads_behind_the_last_task_of_its_page():
    asked = {"type": "echo", "metadata.k": "v"}
    found = read_filter(asked | {"cursor": cursor_after(MARK, asked), "limit": "3"})
    assert isinstance(found, TaskFilter)
    assert (found.after, found.limit) == (HERE, 3)


@pytest.mark.parametrize(
    "other", [{}, {"type": "echo"}, {"status": "dead"}, {"type": "echo", "metadata.k": "v"}]
)
def test_a_cursor_of_another_filter_is_refused(other):
    cursor = cursor_after(MARK, {"type": "echo", "status": "dead"})
    found = read_filter(other | {"cursor": cursor})
    assert isinstance(found, Problem)
    assert (found.status, found.detail[:37]) == (400, "the cursor belongs to another filter:")


def test_a_cursor_with_any_letter_changed_is_refused():
    cursor = cursor_after(MARK, {})
    changed = [
        cursor[:place] + letter + cursor[place + 1 :]
        for place in range(len(cursor))
        for letter in "A9_=!"
        if cursor[place] != letter
    ]
    found = [read_filter({"cursor": text}) for text in changed]
    assert [text for text, one in zip(changed, found, strict=True) if not _is_bad(one)] == []


def _is_bad(found):
    return isinstance(found, Problem) and found.status == 400


@pytest.mark.parametrize(
    "words",
    [
        b"",
        b"{}",
        b"null",
        b"\xff\xfe",
        b'[1,"x","y","z"]',
        b'[1e400,"x","y","z"]',
        b'[1,"%b","y","z",' % ID.encode() + b"[" * 5_000,
        b"[" * 5_000,
        b'[99999999999999999999,"01a1b2c3-0000-7000-8000-000000000001","y","z"]',
    ],
    ids=lambda case: repr(case)[:20],
)
def test_words_that_were_never_a_cursor_are_refused(words):
    assert _is_bad(read_filter({"cursor": urlsafe_b64encode(words).decode()}))


def test_a_cursor_with_something_before_or_behind_it_is_refused():
    cursor = cursor_after(MARK, {})
    for text in (cursor + "!", " " + cursor, cursor + "\n", cursor + "=", cursor + cursor, ""):
        assert _is_bad(read_filter({"cursor": text})), text


@given(st.text(st.characters(exclude_characters="\x00"), max_size=60))
def test_any_text_as_a_cursor_is_refused(text):
    assert _is_bad(read_filter({"cursor": text}))


@given(st.dictionaries(st.sampled_from(["type", "status", "limit", "created_after"]), st.text()))
def test_any_texts_are_a_filter_or_a_problem(asked):
    found = read_filter(asked)
    assert isinstance(found, TaskFilter) or found.status == 422


def test_a_page_tells_its_tasks_the_way_on_and_how_fresh_it_is():
    page = Page([a_view()], HERE, Millis(CREATED))
    answer = msgspec.json.decode(msgspec.json.encode(page_as_json(page, {})))
    assert [task["id"] for task in answer["tasks"]] == [ID]
    assert (answer["next_cursor"], answer["as_of"]) == (
        cursor_after(MARK, {}),
        "2026-11-06T21:20:00.123Z",
    )


def test_the_last_page_leads_nowhere():
    answer = page_as_json(Page([], None, None), {})
    assert answer == {"tasks": [], "next_cursor": None, "as_of": None}


def test_a_page_of_large_results_is_cut_and_its_cursor_leads_to_the_rest():
    tasks = [_large(number) for number in range(200)]
    answer = page_as_json(Page(tasks, None, None), {})
    count = len(answer["tasks"])
    assert 0 < count < 200
    assert len(msgspec.json.encode(answer["tasks"])) < PAGE_BYTES + 1_000
    found = read_filter({"cursor": answer["next_cursor"]})
    assert isinstance(found, TaskFilter)
    assert found.after == After(Millis(CREATED), tasks[count - 1].id)


def _large(number: int):
    return a_view(
        id=TaskId(f"01a1b2c3-0000-7000-8000-{number:012d}"),
        status=Status.SUCCEEDED,
        ending=Ending(finished_at_ms=Millis(CREATED)),
        result=Raw(b'"%b"' % (b"x" * 65_000)),
    )


def test_a_cursor_holds_the_place_and_nothing_else():
    words = msgspec.json.decode(b64decode(cursor_after(MARK, {}), b"-_"))
    assert words[:2] == [CREATED, ID]
