"""Injected headers and recipients are refused by the schema and by the worker."""

import json

import msgspec
import pytest

from functions.workers.email.payload import MOST_RECIPIENTS, Email
from taskmill.stores.catalogue import AssembledCatalogue
from tests.unit.stage import Stage, an_http_event

CATALOGUE = AssembledCatalogue()
GOOD = {"to": ["ada@example.com"], "subject": "Your order", "text": "It is on its way."}
BREAKS = ["\r", "\n", "\r\n", "\r\nBcc: all@example.com", "\n\n<html>", "\x00", "\x0b", "\x85"]
BREAKS += ["\u2028", "\u202e", "\x7f"]
PLACES = {
    "/subject": lambda text: {"subject": text},
    "/from": lambda text: {"from": text},
    "/to/0": lambda text: {"to": [text]},
    "/cc/0": lambda text: {"cc": [text]},
    "/bcc/0": lambda text: {"bcc": [text]},
    "/reply_to": lambda text: {"reply_to": text},
    "/headers/X-Order": lambda text: {"headers": {"X-Order": text}},
}


def is_refused(payload):
    """Return where the gateway refuses it, and check that the worker does as well."""
    misfit = CATALOGUE.misfit("email", payload)
    try:
        msgspec.json.decode(json.dumps(payload), type=Email)
    except msgspec.ValidationError:
        return misfit.pointer
    assert misfit is None
    return None


@pytest.mark.parametrize("text", BREAKS, ids=repr)
@pytest.mark.parametrize("pointer", PLACES)
@pytest.mark.parametrize(
    "shape", ["{}", "Ada{} <ada@example.com>", "ada@example.com{}", "{}a@b.de"]
)
def test_what_ends_a_line_is_refused_wherever_a_header_is_made_of_it(pointer, shape, text):
    assert is_refused(GOOD | PLACES[pointer](shape.format(text))) == pointer


@pytest.mark.parametrize(
    "mailbox",
    [
        "ada",
        "@example.com",
        "ada@",
        "ada@exa mple.com",
        "ada@example.com, bob@example.com",
        "ada@example.com>, <bob@example.com",
        "Ada <ada@example.com",
        'Ada" <ada@example.com>',
        "Ada <a@example.com> <b@example.com>",
        "<ada@example.com>",
        "ada@[127.0.0.1]",
        "ädä@example.com",
        "ada@exämple.com",
        '"ada lovelace"@example.com',
        "a..b@example.com",
        f"{'a' * 320}@example.com",
    ],
)
def test_what_is_no_mailbox_is_refused(mailbox):
    assert is_refused(GOOD | {"to": [mailbox]}) == "/to/0"


@pytest.mark.parametrize(
    "name",
    [
        " Bcc ",
        "Bcc ",
        "Bcc",
        "bcc",
        "X-Order ",
        "X-Order:",
        "X-Order\n",
        "X-Ördér",
        "Subject",
        "From",
        "Content-Type",
        "Return-Path",
        "X-SES-Source-ARN",
        "x-ses-configuration-set",
        "",
    ],
)
def test_only_headers_that_steer_nothing_may_be_named(name):
    assert is_refused(GOOD | {"headers": {name: "x"}}) == "/headers"


@pytest.mark.parametrize("name", ["X-Order", "x-order", "List-Unsubscribe", "In-Reply-To"])
def test_other_headers_are_taken(name):
    assert is_refused(GOOD | {"headers": {name: "<https://example.com/out?id=1>"}}) is None


@pytest.mark.parametrize("count", [MOST_RECIPIENTS + 1, 10_000])
@pytest.mark.parametrize("field", ["to", "cc", "bcc"])
def test_recipients_are_capped(field, count):
    assert is_refused(GOOD | {field: [f"a{n}@example.com" for n in range(count)]}) == f"/{field}"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"to": ["a@b.de"] * 30, "cc": ["c@d.de"] * 21}, "more than 50 recipients"),
        ({"text": ""}, "set at least one of them"),
    ],
)
def test_what_a_schema_cannot_say_is_said_by_the_worker(changes, words):
    with pytest.raises(msgspec.ValidationError, match=words):
        msgspec.convert(GOOD | changes, Email)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"from": "Größe & Söhne, GmbH <shop@example.com>", "subject": "Grüße 👩‍💻"},
        {"to": ["o'brien+tag@mail.example.co.uk"] * MOST_RECIPIENTS},
        {"html": "<p>hello</p>", "text": ""},
        {"text": "\r\n.\r\n\x0b"},
        {"subject": ""},
    ],
)
def test_a_good_mail_is_taken(changes):
    assert is_refused(GOOD | changes) is None


def test_the_gateway_names_the_field(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    body = {"type": "email", "payload": GOOD | {"subject": "a\r\nBcc: all@example.com"}}
    from functions.gateway.handler import lambda_handler  # noqa: PLC0415 - bound first

    headers = {"Content-Type": "application/json"}
    event = an_http_event("POST", "/v1/tasks", headers=headers, body=json.dumps(body))
    answer = lambda_handler(event, stage.context())
    assert answer["statusCode"] == 422
    assert json.loads(answer["body"])["field"] == "/payload/subject"
