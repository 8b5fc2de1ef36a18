"""Every script matches its header, and every loaded file exists."""

import re
from pathlib import Path

import pytest

STORES = Path(__file__).parents[2] / "shared/taskmill/stores"
SHARED = STORES / "redis/lua/lanes/lines.lua"
"""Stands in front of the scripts whose keys it names, and is no script."""
ROOM = STORES / "redis/lua/lanes/room.lua"
"""Stands after it in those that ask for room; it only reads."""
LOOP = STORES / "redis/lua/shard/for_each_record.lua"
"""Stands after scripts that are called for many records at once."""
SCRIPTS = sorted(set((STORES / "redis/lua").rglob("*.lua")) - {SHARED, ROOM, LOOP})
STATEMENTS = sorted((STORES / "postgres/sql").rglob("*.sql"))
WAS_LOST = re.compile(r'if redis\.call\("GET", KEYS\[1\]\) [=~]= ARGV\[1\] then\n')
OWN_WORD = re.compile(
    r'if redis\.call\("GET", KEYS\[\d+\]\) ~= ARGV\[\d+\] \.\. "\|" \.\. ARGV\[1\]'
)
WRITE = re.compile(
    r'"(HSET|HSETNX|HDEL|DEL|UNLINK|ZADD|ZREM|SET|RPUSH|PEXPIRE|PERSIST|ZREMRANGEBYSCORE)"'
)
GROWING = {*("admit", "change_task", "delay_task", "enter_lane", "redrive_task", "unshelve_record")}
FUNCTION = re.compile(r"^local function (\w+)\(.*?^end\n", re.MULTILINE | re.DOTALL)
OPERAND = re.compile(r"(?:KEYS|ARGV)\[\d+\]")


def by_name(path):
    return path.stem


def loaded(folder):
    """Return the names that the adapters of a folder load."""
    sources = [path.read_text() for path in (STORES / folder).glob("*.py")]
    return {
        name
        for source in sources
        for name in re.findall(r'\.load(?:_for_many)?\("([\w/]+)"[,)]', source)
    }


def has_the_shared_part(script):
    return SHARED.name in script.read_text()


def writes(script):
    """Return whether a script writes, by itself or through a function of the shared part."""
    text = script.read_text()
    if WRITE.search(text):
        return True
    return has_the_shared_part(script) and _calls_one_of(writing_functions(), text)


def writing_functions():
    """Return the functions of the shared part that write, or that call one."""
    bodies = {one[1]: one[0].partition("\n")[2] for one in FUNCTION.finditer(SHARED.read_text())}
    found = set()
    while more := {
        name
        for name, body in bodies.items()
        if name not in found and (WRITE.search(body) or _calls_one_of(found, body))
    }:
        found |= more
    return found


def _calls_one_of(names, text):
    return any(re.search(rf"\b{name}\(", text) for name in names)


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_a_header_names_what_the_body_uses(script):
    header, _, body = script.read_text().partition("]]\n")
    assert set(OPERAND.findall(header)) == set(OPERAND.findall(body))


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_a_script_is_refused_keys_that_it_does_not_declare(script):
    assert re.match(r"#!lua( flags=(no-writes|allow-oom))?\n--\[\[\n", script.read_text())


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_a_script_reads_its_clock_once_and_no_other(script):
    body = script.read_text().partition("]]\n")[2]
    if has_the_shared_part(script):
        body = SHARED.read_text() + body
    assert body.count('"TIME"') <= 1
    assert "os." not in body


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_a_script_on_a_shard_or_lane_asks_first_whether_it_forgot(script):
    header, _, body = script.read_text().partition("]]\n")
    if script.stem == "note_unreadable":
        return  # a marker of another type cannot be asked
    if re.search(r"(shard|lane)'s rebuild", header):
        assert WAS_LOST.match(body) or OWN_WORD.match(body)
    elif "marker" in header:
        assert body.startswith('if redis.call("GET", KEYS[1]) ~= ARGV[1] then\n')


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_a_script_that_promises_not_to_write_does_not(script):
    assert ("flags=no-writes" in script.read_text()) is not writes(script)


def test_functions_that_write_are_known_through_others():
    assert {"wake", "line_up", "rank_line", "save_state"} < writing_functions()
    assert not {"under", "head_of", "count_waiting", "is_paused"} & writing_functions()


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_a_full_server_refuses_only_what_lets_the_backlog_grow(script):
    """What waits must be able to start, and what has ended to leave: the backlog drains."""
    flags = script.read_text().partition("\n")[0].removeprefix("#!lua")
    assert ("allow-oom" in flags) == (writes(script) and script.stem not in GROWING)


def test_every_script_is_loaded_and_every_loaded_one_exists():
    names = {f"{path.parent.name}/{path.stem}" for path in SCRIPTS}
    assert names == loaded("redis")


def test_every_statement_is_loaded_and_every_loaded_one_exists():
    names = {f"{path.parent.name}/{path.stem}" for path in STATEMENTS}
    assert names == loaded("postgres")


@pytest.mark.parametrize("statement", STATEMENTS, ids=by_name)
def test_a_statement_says_what_it_does_and_only_takes_every_column_of_a_view(statement):
    text = statement.read_text()
    assert text.startswith("-- ")
    every_column_of = re.findall(r"select\s+\*\s+from\s+(\S+)", text, re.IGNORECASE)
    assert set(every_column_of) <= {"shown_tasks", "whole_tasks"}
    assert len(re.findall(r"select\s+\*", text, re.IGNORECASE)) == len(every_column_of)
