"""Every script matches its header, and every loaded file exists."""

import re
from pathlib import Path

import pytest

STORES = Path(__file__).parents[2] / "shared/taskmill/stores"
SCRIPTS = sorted((STORES / "redis/lua").rglob("*.lua"))
STATEMENTS = sorted((STORES / "postgres/sql").rglob("*.sql"))
OWN_WORD = 'if redis.call("GET", KEYS[1]) ~= ARGV[2] .. "|" .. ARGV[1]'
OPERAND = re.compile(r"(?:KEYS|ARGV)\[\d+\]")


def by_name(path):
    return path.stem


def loaded(folder):
    """Return the names that the adapters of a folder load."""
    sources = [path.read_text() for path in (STORES / folder).glob("*.py")]
    return {name for source in sources for name in re.findall(r'\.load\("([\w/]+)"\)', source)}


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_a_header_names_what_the_body_uses(script):
    header, _, body = script.read_text().partition("]]\n")
    assert set(OPERAND.findall(header)) == set(OPERAND.findall(body))


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_a_script_is_refused_keys_that_it_does_not_declare(script):
    assert re.match(r"#!lua( flags=no-writes)?\n--\[\[\n", script.read_text())


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_a_script_reads_its_clock_once_and_no_other(script):
    body = script.read_text().partition("]]\n")[2]
    assert body.count('"TIME"') <= 1
    assert "os." not in body


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_a_script_on_a_shard_asks_first_whether_it_forgot(script):
    body = script.read_text().partition("]]\n")[2]
    if script.stem == "note_unreadable":
        return  # a marker of another type cannot be asked
    if "the shard's rebuild" in script.read_text():
        assert body.startswith(('if redis.call("GET", KEYS[1]) == ARGV[1] then\n', OWN_WORD))
    elif "marker" in script.read_text():
        assert body.startswith('if redis.call("GET", KEYS[1]) ~= ARGV[1] then\n')


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_a_script_that_promises_not_to_write_does_not(script):
    text = script.read_text()
    writes = re.search(r'"(HSET|HDEL|DEL|ZADD|ZREM|SET|PEXPIRE|PERSIST|ZREMRANGEBYSCORE)"', text)
    assert ("flags=no-writes" in text) == (writes is None)


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
