"""A mail arrives complete, or its task gets the right outcome; credentials never leak."""

from datetime import UTC, datetime
from email import message_from_bytes
from email.policy import default

import msgspec
import pytest
from msgspec import Raw

from functions.workers.email import handler
from functions.workers.email.access import SmtpAccess
from functions.workers.email.message import compose
from functions.workers.email.payload import Email
from functions.workers.email.settings import MailSettings
from functions.workers.email.smtp import USUAL, Patience, Smtp
from taskmill.core.counting import Count
from taskmill.core.facts import TaskDeferred
from taskmill.core.task import TaskType
from taskmill.platform import process
from taskmill.platform.executor import ThreadExecutor
from taskmill.settings.access import Access
from taskmill.worker import Discard, Retry, Succeeded
from tests.builders import an_envelope
from tests.integration.security.smtp_server import HANGS_UP, SAYS_NOTHING, mail_server
from tests.unit.stage import RealClock, Stage

PAYLOAD = {
    "to": ["Ada Lovelace <ada@example.com>"],
    "cc": ["Überwältigend <ue@example.com>"],
    "bcc": ["secret@example.com"],
    "subject": "Your order",
    "text": "Hello\n.\nthis is behind a dot",
}
PLENTY = 60.0
EVERYBODY = ["ada@example.com", "ue@example.com", "secret@example.com"]


SENDER = "Shop <shop@example.com>"


def a_mail(**changes):
    email = msgspec.convert(PAYLOAD | changes, Email)
    return compose(email, sender=SENDER, reference="t-1", now=datetime.now(UTC))


def by_smtp(server, *, patience=USUAL, **ways):
    access = SmtpAccess(server=f"localhost:{server.port}", **{"security": "PLAINTEXT"} | ways)
    return Smtp(Access(access), hello="example.com", patience=patience)


def send(server, **changes):
    return by_smtp(server).send(a_mail(**changes), seconds=PLENTY)


def test_a_mail_arrives_whole_and_names_nobody_of_bcc():
    with mail_server() as server:
        assert send(server) == Succeeded({"message_id": "<t-1@example.com>", "refused": {}})
    assert server.said("MAIL")[0].startswith("MAIL FROM:<shop@example.com> SIZE=")
    assert server.said("RCPT") == [f"RCPT TO:<{one}>" for one in EVERYBODY]
    assert b"secret" not in server.content
    read = message_from_bytes(server.content, policy=default)
    assert read["Message-ID"] == "<t-1@example.com>"
    assert str(read["Cc"].addresses[0].display_name) == "Überwältigend"
    assert read.get_content() == "Hello\r\n.\r\nthis is behind a dot\r\n"


@pytest.mark.parametrize(
    "text",
    [".", ".\n.", "a\nb", "a\r\nb", "a\rb", "\n.\r\n.\n", "..", "\r\n.\r\nQUIT\r\n", "x" * 5000],
    ids=repr,
)
def test_no_body_ends_the_mail_and_lines_end_in_crlf_only(text):
    with mail_server() as server:
        assert isinstance(send(server, text=text), Succeeded)
    assert len(server.said("QUIT")) == 1
    assert server.raw[0].replace(b"\r\n", b"").count(b"\n") == 0
    assert server.raw[0].replace(b"\r\n", b"").count(b"\r") == 0
    whole = "\r\n".join(text.splitlines()) + "\r\n"
    assert message_from_bytes(server.content, policy=default).get_content() == whole


STEPS = ["MAIL", "RCPT", "DATA", "the mail"]


@pytest.mark.parametrize("step", STEPS)
def test_what_a_server_refuses_for_now_is_tried_again(step):
    with mail_server({step: b"451 come back later"}) as server:
        answer = send(server)
    assert isinstance(answer, Retry)
    assert "451 come back later" in answer.reason
    assert not answer.may_have_worked


@pytest.mark.parametrize("step", STEPS)
def test_what_a_server_refuses_for_good_is_not_tried_again(step):
    with mail_server({step: b"550 never"}) as server:
        answer = send(server)
    assert isinstance(answer, Discard)
    assert "550 never" in answer.reason


@pytest.mark.parametrize("word", [HANGS_UP, SAYS_NOTHING])
def test_a_mail_that_is_not_acknowledged_may_have_arrived(word):
    with mail_server({"the mail": word}) as server:
        answer = by_smtp(server, patience=Patience(to_take_a_mail=0.3)).send(
            a_mail(), seconds=PLENTY
        )
    assert isinstance(answer, Retry)
    assert answer.may_have_worked


@pytest.mark.parametrize("word", [b"hello?", b"99 what", b"354 go on", b"0", b"\xff", b"2" * 9000])
def test_what_no_reader_understands_behind_a_mail_may_mean_that_it_arrived(word):
    with mail_server({"the mail": word}) as server:
        answer = send(server)
    assert isinstance(answer, Retry)
    assert answer.may_have_worked


@pytest.mark.parametrize("step", ["MAIL", "RCPT", "DATA"])
def test_what_no_reader_understands_before_the_mail_is_no_doubt(step):
    with mail_server({step: b"hello?"}) as server:
        answer = send(server)
    assert isinstance(answer, Retry)
    assert not answer.may_have_worked


@pytest.mark.parametrize("security", ["PLAINTEXT", "STARTTLS", "TLS"])
def test_a_mail_of_which_nothing_was_said_in_the_time_of_its_task_is_counted(
    security, authority, monkeypatch
):
    """The task's own time is shorter than what a server may take for a mail."""
    stage = Stage(clock=RealClock(), executor=ThreadExecutor())
    stage.bind(monkeypatch)
    ways = {} if security == "PLAINTEXT" else {"context": authority.context("good")}
    trust = {"security": security, "ca_file": str(authority.file)}
    settings = MailSettings(sender=SENDER, smtp=None)
    monkeypatch.setitem(process.PROVIDED, "settings", lambda: settings)
    with mail_server({"the mail": SAYS_NOTHING}, is_wrapped=security == "TLS", **ways) as server:
        monkeypatch.setitem(process.PROVIDED, "transport", lambda: by_smtp(server, **trust))
        payload = Raw(msgspec.json.encode(PAYLOAD))
        task = an_envelope(type=TaskType("email"), payload=payload, timeout_seconds=5.0)
        stage.deliver(handler.lambda_handler, task)
    *_, end = stage.log.facts()  # an attempt of some seconds also reports its start
    assert isinstance(end, TaskDeferred)
    assert (end.reason, len(server.raw)) == ("failed", 1)
    assert stage.counters.total(Count.IN_DOUBT) == 1


@pytest.mark.parametrize("step", ["EHLO", "MAIL", "RCPT", "DATA"])
def test_a_mail_that_was_not_told_in_the_time_of_its_task_cannot_have_arrived(step):
    with mail_server({step: SAYS_NOTHING, "HELO": SAYS_NOTHING}) as server:
        answer = by_smtp(server).send(a_mail(), seconds=0.5)
    assert isinstance(answer, Retry)
    assert not answer.may_have_worked
    assert server.raw == []


@pytest.mark.parametrize("word", [HANGS_UP, SAYS_NOTHING])
@pytest.mark.parametrize("step", ["EHLO", "MAIL", "RCPT", "DATA"])
def test_a_server_that_leaves_earlier_cannot_have_taken_it(step, word):
    with mail_server({step: word, "HELO": word}) as server:
        answer = by_smtp(server, patience=Patience(for_an_answer=0.3)).send(
            a_mail(), seconds=PLENTY
        )
    assert isinstance(answer, Retry)
    assert not answer.may_have_worked
    assert server.raw == []


@pytest.mark.parametrize("greeting", [b"554 not for you", b"421 too busy", b"hello?"])
def test_a_server_that_lets_nobody_in_says_nothing_about_the_mail(greeting):
    with mail_server({"greeting": greeting}) as server:
        assert isinstance(send(server), Retry)


def test_no_server_at_all_is_tried_again():
    with mail_server() as server:
        pass
    answer = send(server)
    assert isinstance(answer, Retry)
    assert "refused the login" in answer.reason


def test_a_name_that_nobody_knows_is_tried_again():
    access = SmtpAccess(server="mail.invalid:25", security="STARTTLS")
    assert isinstance(
        Smtp(Access(access), hello="example.com").send(a_mail(), seconds=PLENTY), Retry
    )


def test_who_is_refused_for_good_does_not_hold_back_the_others():
    with mail_server({"RCPT TO:<ue@example.com>": b"550 unknown"}) as server:
        answer = send(server)
    assert isinstance(answer, Succeeded)
    assert list(answer.result["refused"]) == ["ue@example.com"]
    assert len(server.raw) == 1


def test_while_somebody_is_refused_for_now_nobody_gets_it():
    with mail_server({"RCPT TO:<ue@example.com>": b"450 greylisted"}) as server:
        assert isinstance(send(server), Retry)
    assert server.raw == []


def test_a_repetition_carries_the_same_message_id():
    with mail_server({"the mail": HANGS_UP}) as server:
        for _ in range(2):
            send(server)
    first, second = (message_from_bytes(raw)["Message-ID"] for raw in server.raw)
    assert first == second == "<t-1@example.com>"


@pytest.mark.parametrize("security", ["STARTTLS", "TLS"])
def test_the_mail_and_the_login_go_over_tls_only(security, authority):
    ways = {"context": authority.context("good"), "is_wrapped": security == "TLS"}
    settings = {
        "TASKMILL_MAIL_FROM": "shop@example.com",
        "TASKMILL_SMTP_SECURITY": security,
        "TASKMILL_SMTP_CA_FILE": str(authority.file),
        "TASKMILL_SMTP_SECRET": "login",
    }
    with mail_server(passwords=frozenset({"shop:right"}), **ways) as server:
        env = settings | {"TASKMILL_SMTP_SERVER": f"localhost:{server.port}"}
        reply = MailSettings.from_env(env, read_secret=secret_with("right"))
        assert isinstance(
            Smtp(reply.smtp, hello="example.com").send(a_mail(), seconds=PLENTY), Succeeded
        )
    open_lines = [line for line in server.lines if line not in server.secured]
    assert {line.partition(" ")[0].upper() for line in open_lines} <= {"EHLO", "STARTTLS"}
    assert server.said("AUTH")
    assert set(server.said("AUTH")) <= set(server.secured)


def secret_with(*passwords):
    """Return a reader that gives one password after another, like a rotated secret."""
    left = list(passwords)

    def read(name, *, fresh=False):
        password = left.pop(0) if len(left) > 1 else left[0]
        return msgspec.json.encode({"username": "shop", "password": password}).decode()

    return read


@pytest.mark.parametrize(
    ("passwords", "kind"), [(("old", "new"), Succeeded), (("old", "old"), Retry)]
)
def test_a_rotated_login_is_read_anew_without_a_restart(passwords, kind):
    with mail_server(passwords=frozenset({"shop:new"})) as server:
        env = {
            "TASKMILL_MAIL_FROM": "shop@example.com",
            "TASKMILL_SMTP_SERVER": f"127.0.0.1:{server.port}",
            "TASKMILL_SMTP_SECURITY": "PLAINTEXT",
            "TASKMILL_SMTP_SECRET": "login",
        }
        reply = MailSettings.from_env(env, read_secret=secret_with(*passwords))
        answer = Smtp(reply.smtp, hello="example.com").send(a_mail(), seconds=PLENTY)
    assert isinstance(answer, kind)
    assert "old" not in str(answer)


@pytest.mark.parametrize("security", ["STARTTLS", "TLS"])
@pytest.mark.parametrize(
    ("show", "sentence"),
    [
        ("expired", "its certificate has expired"),
        ("other_name", "its certificate is for another name"),
        ("unknown", "set one in TASKMILL_SMTP_CA_FILE"),
    ],
)
def test_another_server_is_told_nothing(show, sentence, security, authority):
    ways = {"context": authority.context(show), "is_wrapped": security == "TLS"}
    with mail_server(**ways) as server:
        answer = by_smtp(server, security=security, ca_file=str(authority.file)).send(
            a_mail(), seconds=PLENTY
        )
    assert isinstance(answer, Retry)
    assert sentence in answer.reason
    assert not server.said("MAIL")


def test_a_server_without_starttls_is_told_nothing():
    with mail_server() as server:
        answer = by_smtp(server, security="STARTTLS").send(a_mail(), seconds=PLENTY)
    assert isinstance(answer, Retry)
    assert "STARTTLS" in answer.reason
    assert not server.said("MAIL")
