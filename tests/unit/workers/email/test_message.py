"""A mail contains exactly what was requested, whatever the input."""

import re
from datetime import UTC, datetime
from email import message_from_bytes
from email.header import decode_header, make_header
from email.policy import default
from email.utils import getaddresses

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.workers.email.message import Unsendable, compose
from functions.workers.email.payload import Email
from functions.workers.email.smtp import stuffed

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SENDER = "Shop <shop@example.com>"
GOOD = {"to": ["ada@example.com"], "subject": "Your order", "text": "It is on its way."}
HEADERS = ["From", "To", "Subject", "Date", "Message-ID"]
OF_THE_BODY = {"Content-Type", "Content-Transfer-Encoding", "MIME-Version"}


def mail_of(**changes):
    email = msgspec.convert(GOOD | changes, Email)
    return compose(email, sender=SENDER, reference="019f-7", now=NOW)


def read(mail):
    return message_from_bytes(mail.content, policy=default)


def test_a_mail_is_from_the_deployments_own_sender_and_named_by_its_reference():
    mail = mail_of()
    assert (mail.sender, mail.recipients) == ("shop@example.com", ("ada@example.com",))
    assert mail.message_id == "<019f-7@example.com>"
    assert [name for name in read(mail) if name not in OF_THE_BODY] == HEADERS


def test_another_sender_of_the_same_domain_may_be_named():
    mail = mail_of(**{"from": "Ada <ADA@Example.com>"})
    assert mail.sender == "ADA@Example.com"
    assert read(mail)["From"] == "Ada <ADA@Example.com>"


@pytest.mark.parametrize("sender", ["ceo@bank.example", "shop@example.com.evil.example"])
def test_a_sender_of_another_domain_may_not(sender):
    with pytest.raises(Unsendable, match=r"from must be in example\.com"):
        mail_of(**{"from": sender})


def test_who_is_named_twice_gets_one_mail():
    mail = mail_of(cc=["ada@example.com"], bcc=["Ada <ada@example.com>", "bob@example.com"])
    assert mail.recipients == ("ada@example.com", "bob@example.com")


def test_text_and_html_are_two_forms_of_one_mail():
    both = read(mail_of(html="<p>Grüße</p>", text="Grüße"))
    assert both.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in both.iter_parts()] == ["text/plain", "text/html"]
    assert read(mail_of(html="<p>x</p>", text="")).get_content_type() == "text/html"


def test_a_mail_that_grows_past_the_limit_is_not_sent():
    with pytest.raises(Unsendable, match="the limit is 5000000"):
        mail_of(text="€" * 999_999, html="€" * 999_999)


PRINTED = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp", "Cf")), max_size=400
)
NAMES = PRINTED.filter(lambda text: text.strip() and not set('<>"\\') & set(text)).map(str.strip)


@given(PRINTED)
def test_any_subject_comes_back_and_stays_one_header(subject):
    assert_one_header(mail_of(subject=subject), "Subject", subject)


@given(PRINTED)
def test_any_value_of_a_header_comes_back_and_stays_one_header(value):
    mail = mail_of(headers={"X-Order": value})
    assert_one_header(mail, "X-Order", value, more=["X-Order"])


@given(st.lists(NAMES.map(lambda name: name[:200]), min_size=1, max_size=5))
def test_any_display_name_comes_back_and_names_nobody_else(names):
    mail = mail_of(to=[f"{name} <a{n}@example.com>" for n, name in enumerate(names)])
    # The old way of reading: the new one puts spaces between encoded words.
    answer = getaddresses([str(message_from_bytes(mail.content)["To"])])
    assert [address for _, address in answer] == [f"a{n}@example.com" for n in range(len(names))]
    assert [str(make_header(decode_header(name))) for name, _ in answer] == names
    assert_lines(mail)


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=2000))
def test_any_text_comes_back_line_by_line(text):
    mail = mail_of(text=text)
    lines = re.split("\r\n|\r|\n", text)
    assert re.split("\r\n", read(mail).get_content().removesuffix("\r\n")) == (
        lines[:-1] if lines[-1] == "" and len(lines) > 1 else lines
    )
    assert_lines(mail)


@given(st.lists(st.sampled_from([".", "\r", "\n", "\r\n", "a", "QUIT", " "]), min_size=1))
def test_no_text_ends_the_mail_early(parts):
    mail = mail_of(text="".join(parts))
    sent = stuffed(mail.content)
    assert sent.endswith(b"\r\n.\r\n")
    assert sent.count(b"\r\n.\r\n") == 1
    lines = sent.removesuffix(b".\r\n").split(b"\r\n")
    assert b"\r\n".join(line.removeprefix(b".") for line in lines) == mail.content


def assert_one_header(mail, name, value, more=()):
    answer = read(mail)
    assert [one for one in answer if one not in OF_THE_BODY] == [
        *HEADERS[:3],
        *more,
        *HEADERS[3:],
    ]
    assert str(answer[name]) == value
    assert_lines(mail)


def assert_lines(mail):
    """Check that every server accepts it: ASCII, at most 998 bytes per line, only CRLF."""
    assert mail.content.isascii()
    assert not re.search(rb"(?<!\r)\n|\r(?!\n)", mail.content)
    assert max(map(len, mail.content.split(b"\r\n"))) <= 998
