"""What looks like a secret is not kept; what does not is kept as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskmill.core.redaction import redacted

SECRET = [
    ("password=hunter2 for ada", "password=*** for ada"),
    ("{'password': 'hunter2', 'user': 'ada'}", "{'password': ***, 'user': 'ada'}"),
    ('{"db_password": "hun ter2", "n": 1}', '{"db_password": ***, "n": 1}'),
    ("PGPASSWORD=hunter2", "PGPASSWORD=***"),
    ("client_secret: abc&x=1", "client_secret: ***&x=1"),
    ("GET /?token=abc&x=1", "GET /?token=***&x=1"),
    ("aws_secret_access_key = abc/def+g", "aws_secret_access_key = ***"),
    ("api-key: abc, next", "api-key: ***, next"),
    ("X-Api-Key: abc", "X-Api-Key: ***"),
    ("Authorization: Bearer abc.def", "Authorization: ***"),
    ("{'authorization': 'Basic YWRhOmh1bnRlcjI='}", "{'authorization': '***'}"),
    ("sent Bearer abcdefgh.ijk to it", "sent Bearer *** to it"),
    ("postgresql://ada:hunter2@db.example/x", "postgresql://***@db.example/x"),
    ("redis://:hunter2@cache:6379", "redis://***@cache:6379"),
    ("https://token@example.org/", "https://***@example.org/"),
]
HARMLESS = [
    "",
    "no such customer: 17",
    "the token has expired",
    "password is too short",
    "see https://example.org/a@b?x=1",
    "mail to ada@example.org failed",
    "bearer of bad news",
    "secretary: Ada",
    "compass: north",
    "max_tokens=4096",
]


@pytest.mark.parametrize(("text", "kept"), SECRET)
def test_a_secret_is_hidden_and_its_name_stays(text, kept):
    assert redacted(text) == kept


@pytest.mark.parametrize(("text", "kept"), SECRET)
def test_hiding_twice_is_hiding_once(text, kept):
    assert redacted(redacted(text)) == kept


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text):
    assert redacted(text) == text


@pytest.mark.parametrize("unit", ["password", "://a", "token:", "authorization ", "=", "'", "key "])
def test_no_text_takes_long(unit):
    assert len(redacted(unit * (16_384 // len(unit)))) > 0


@given(st.from_regex(r"[A-Za-z0-9]{8,40}", fullmatch=True))
def test_no_part_of_a_password_is_left(value):
    assert value not in redacted(f"login failed: password={value} (user ada)")
