"""Likely secrets are removed; other text stays unchanged."""

import json
import time

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
    ("{'authorization': 'Basic YWRhOmh1bnRlcjI='}", "{'authorization': ***}"),
    ("sent Bearer abcdefgh.ijk to it", "sent Bearer *** to it"),
    ("postgresql://ada:hunter2@db.example/x", "postgresql://***@db.example/x"),
    ("redis://:hunter2@cache:6379", "redis://***@cache:6379"),
    ("https://token@example.org/", "https://***@example.org/"),
]
S = "hunter2Zx9"
"""The secret in each of the forms."""
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJlLXNpZ25hdHVyZQ"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB{S}\n{S}\n-----END RSA PRIVATE KEY-----"
FORMS = {
    "JSON": json.dumps({"password": S, "user": "ada"}),
    "JSON within JSON": json.dumps({"body": json.dumps({"password": S})}),
    "JSON within JSON within JSON": json.dumps(json.dumps({"b": json.dumps({"password": S})})),
    "JSON within a repr": repr(json.dumps({"password": f"{S}'{S}"})),
    "a header as a member": json.dumps({"headers": {"Authorization": f"Bearer {S}.{S}"}}),
    "a header with many values": json.dumps({"Authorization": [f"Bearer {S}", f"Basic {S}"]}),
    "a list of secrets": f"tokens and token=['{S}', '{S}x']",
    "Cookie": f"Cookie: theme=dark; session={S}; csrf={S}",
    "Set-Cookie": f"< Set-Cookie: id={S}; Path=/; HttpOnly",
    "Cookie in a dict": repr({"cookie": f"a={S}; b={S}", "host": "x"}),
    "Cookie within JSON": json.dumps(json.dumps({"Cookie": f"a={S}; b={S}"})),
    "a slash in a URL's password": f"postgresql://ada:{S}/{S}@db.example/x",
    "an at sign in a URL's password": f"redis://ada:{S}@{S}@cache:6379/0",
    "a question mark in a URL's password": f"amqp://ada:{S}?{S}@broker:5672",
    "bytes": f"password=b'{S}'",
    "bytes in a dict": repr({b"password": S.encode()}),
    "a quote within quotes": f'password="{S}\\"{S}" and so on',
    "the other quote within quotes": f"password='{S}\"{S}'",
    "a quote within a bare word": f"password={S}'{S} for ada",
    "a comma within a bare word": f"password={S},{S} for ada",
    "a tuple": repr(("password", S)),
    "a list": repr([["password", S]]),
    "headers as tuples": repr([("Host", "x"), ("Authorization", f"Basic {S}")]),
    "headers as tuples of bytes": repr([(b"cookie", f"a={S}; b={S}".encode())]),
    "name and value": json.dumps({"name": "DB_PASSWORD", "value": S}),
    "name and value in XML": f'<add name="password" value="{S}"/>',
    "an option": f"psql --host db --password {S} -c 'select 1'",
    "an option with its name": f"vault login --client-secret={S}",
    "an option in a list": repr(["psql", "--password", S, "--host", "db"]),
    "user and password of curl": f"curl -u ada:{S} https://example.org/",
    "XML": f"<login><password>{S}</password></login>",
    "XML with a namespace": f'<wsse:Password Type="text">{S} {S}</wsse:Password>',
    "XML with CDATA": f"<apiKey><![CDATA[{S}<{S}]]></apiKey>",
    "quotes in XML": f"{{&quot;password&quot;:&quot;{S}&quot;}}",
    "percent-encoded": f"GET /?next=%2Flogin%3Fpassword%3D{S}",
    "percent-encoded JSON": f"body=%7B%22password%22%3A%22{S}%22%7D",
    "percent-encoded twice": f"url=%253Ftoken%253D{S}",
    "a JWT": f"verify({JWT})",
    "a PEM block": f"cannot load {PEM} at all",
    "a PEM block in JSON": json.dumps({"pem": PEM}),
    "a PEM block that was cut off": PEM[:60],
    "Digest": f'Authorization: Digest username="ada", response="{S}", uri="/"',
    "AWS": f"Authorization: AWS4-HMAC-SHA256 Credential=A/1, SignedHeaders=h, Signature={S}",
    "Basic on its own": f"sent Basic {S}== to it",
    "a key of AWS": "denied for AKIAIOSFODNN7EXAMPLE at once",
    "a key of GitHub": f"git clone with ghp_{S}{S}{S} failed",
    "a key of a webhook": f"whsec_{S}{S}",
    "an assignment": f"MYSQL_PWD={S} mysql",
    "a mapping of Ruby": f":password => '{S}'",
    "camel case": f"accessToken: {S}",
}
LEAKS = (S, JWT.split(".")[1], "AKIAIOSFODNN7EXAMPLE", "MIIEpAIB")
HARMLESS = [
    "",
    "no such customer: 17",
    "the token has expired",
    "password is too short",
    "the option --password is required",
    "see https://example.org/a@b?x=1",
    "see https://example.org:8080/a@b?x=1",
    "see http://[::1]:8080/a@b",
    "mail to ada@example.org failed",
    "bearer of bad news",
    "basic operations failed",
    "secretary: Ada",
    "compass: north",
    "max_tokens=4096",
    "unexpected token: '}' at 3",
    "Unexpected token < in JSON at position 0",
    "accept the cookie policy",
    "3 cookies: a, b",
    "key=value, keyboard: qwerty",
    "KeyError: 'customer'",
    'File "/var/task/handler.py", line 12, in perform',
    "could not parse <name>Ada</name>",
    "task 018f-aa: attempt 2 of 4, at 2026-11-20T01:00:00Z",
    "('name', 'Ada')",
    "[Errno 2] No such file or directory: '/tmp/x'",
    "eyJ is how JSON begins in base64",
    "-----BEGIN",
]


@pytest.mark.parametrize(("text", "kept"), SECRET)
def test_a_secret_is_hidden_and_its_name_stays(text, kept):
    assert redacted(text) == kept


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_a_secret_is_hidden_whole_in_every_form(text):
    assert any(leak in text for leak in LEAKS)
    assert not [leak for leak in LEAKS if leak in redacted(text)]


@pytest.mark.parametrize("text", [*(text for text, _ in SECRET), *FORMS.values()])
def test_hiding_twice_is_hiding_once(text):
    assert redacted(redacted(text)) == redacted(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text):
    assert redacted(text) == text


_UNITS = [
    *("password", "://a", "://a:", "token:", "authorization ", "=", "'", "key ", "eyJ-", "eyJa."),
    *("<password ", "<", "-----BEGIN A-----", "--password ", '\\"password', "\\", "%22", "cookie:"),
    *("('password',", "basic ", "a@", "-u a", "&quot;", "password=[", "token='", "x"),
]


@pytest.mark.parametrize("unit", _UNITS)
def test_the_time_grows_no_faster_than_the_text(unit):
    """Four times what is searched: it takes many seconds if each start looks to the end."""

    def seconds():
        began = time.process_time()
        redacted(unit * (65_536 // len(unit)))
        return time.process_time() - began

    assert min(seconds() for _ in range(2)) < 2


@given(st.from_regex(r"[A-Za-z0-9]{8,40}", fullmatch=True))
def test_no_part_of_a_password_is_left(value):
    assert value not in redacted(f"login failed: password={value} (user ada)")
