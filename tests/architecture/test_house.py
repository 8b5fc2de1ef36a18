"""The figures of `make house`, such as jumps and files per task, stay within limits."""

import pytest

from tests.house import limits
from tests.house.folders import sizes
from tests.house.names import (
    GLOSSARY,
    LAYER,
    defined_twice,
    public_classes,
    without_a_row,
    words_of,
)
from tests.house.way import walk


def hold(limit, figure, *names):
    """Fail with the target if the figure exceeds its current limit."""
    assert figure <= limit.today, "\n  ".join([limit.line(figure), *names])


@pytest.fixture(scope="module")
def way():
    return walk()


def test_one_task_passes_few_files(way):
    hold(limits.FILES, len(way.files), *sorted(way.files))


def test_one_task_jumps_seldom_from_file_to_file(way):
    hold(limits.JUMPS, way.jumps)


@pytest.mark.parametrize("function", ["gateway", "dispatcher", "workers/echo", "recorder"])
def test_the_way_of_a_task_leads_through(way, function):
    assert any(f"functions/{function}/handler.py" in file for file in way.files)


def test_no_folder_holds_too_many_files():
    folders = sizes()
    hold(limits.FILES_IN_A_FOLDER, max(folders.values()), *map(str, folders.items()))


def test_each_public_class_has_a_name_of_its_own():
    twice = defined_twice(public_classes(LAYER))
    hold(limits.DEFINED_TWICE, len(twice), *map(str, twice.items()))


def test_the_glossary_explains_the_classes_of_the_core():
    missing = without_a_row(public_classes(LAYER / "core"), GLOSSARY.read_text(encoding="utf-8"))
    hold(limits.WITHOUT_A_ROW, len(missing), *missing)


def test_a_row_names_a_class_in_backticks_or_by_its_words():
    glossary = (
        "| word | meaning |\n| --- | --- |\n| `Bus` | the log |\n| raw envelope, blob | … |\n"
    )
    places = {name: ["core/log.py"] for name in ("Bus", "RawEnvelope", "Blob", "Gap")}
    assert without_a_row(places, glossary) == ["Gap"]


def test_a_name_that_two_modules_define_is_found_with_its_places():
    places = {"Gap": ["core/log.py", "schedules/coming.py"], "Bus": ["core/ports.py"]}
    assert defined_twice(places) == {"Gap": ["core/log.py", "schedules/coming.py"]}


def test_words_of_a_class_are_read_from_its_humps():
    assert words_of("RedriveJob") == "redrive job"
