"""Mail settings come from the environment; all problems are reported together."""

import pytest

from functions.workers.email.settings import MailSettings
from taskmill.core.errors import SettingsInvalid

BY_SMTP = {"TASKMILL_MAIL_FROM": "shop@example.com", "TASKMILL_SMTP_SERVER": "mail.example.com:587"}
BY_SES = {"TASKMILL_MAIL_FROM": "shop@example.com", "TASKMILL_SES_IDENTITY": "example.com"}


def read(env, told='{"username": "u", "password": "p"}'):
    return MailSettings.from_env(env, read_secret=lambda _name, *, fresh=False: told)


def test_a_mail_server_is_spoken_to_over_starttls_unless_said_otherwise():
    smtp = read(BY_SMTP).smtp.value
    assert (smtp.host, smtp.port, smtp.security) == ("mail.example.com", 587, "STARTTLS")
    assert not smtp.credentials.are_whole


def test_the_login_comes_from_a_secret_and_is_not_shown():
    smtp = read(BY_SMTP | {"TASKMILL_SMTP_SECRET": "login"}).smtp.value
    assert (smtp.credentials.username, smtp.credentials.password) == ("u", "p")
    assert "'p'" not in repr(smtp)


@pytest.mark.parametrize("identity", ["example.com", "EXAMPLE.com", "shop@example.com"])
def test_ses_sends_for_its_identity(identity):
    assert read(BY_SES | {"TASKMILL_SES_IDENTITY": identity}).smtp is None


def test_a_deployment_may_send_no_mail_at_all():
    assert read({}) == MailSettings(sender="", smtp=None)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"TASKMILL_MAIL_FROM": ""}, "TASKMILL_MAIL_FROM is missing"),
        ({"TASKMILL_MAIL_FROM": "run_context"}, "TASKMILL_MAIL_FROM must look like"),
        ({"TASKMILL_MAIL_FROM": "a@b.de\nBcc: c@d.de"}, "TASKMILL_MAIL_FROM must look like"),
        ({"TASKMILL_SMTP_SERVER": ""}, "are missing: set one of them"),
        ({"TASKMILL_SMTP_SERVER": "mail.example.com"}, "must look like mail.example.com:587"),
        ({"TASKMILL_SMTP_SERVER": "mail.example.com:smtp"}, "must look like"),
        ({"TASKMILL_SMTP_SERVER": "mail.example.com:99999"}, "must look like"),
        ({"TASKMILL_SMTP_SECURITY": "SSL"}, "must be one of STARTTLS, TLS, PLAINTEXT"),
        ({"TASKMILL_SMTP_SECURITY": "PLAINTEXT"}, "not allowed for the remote host mail.exam"),
        ({"TASKMILL_SMTP_CA_FILE": "/nowhere"}, "but there is no such file"),
        ({"TASKMILL_SES_IDENTITY": "example.com"}, "exclude each other: set one"),
        ({"TASKMILL_SES_IDENTITY": "other.example"}, "must belong to TASKMILL_SES_IDENTITY"),
    ],
)
def test_what_is_wrong_is_named(changes, words):
    with pytest.raises(SettingsInvalid) as refused:
        read(BY_SMTP | changes)
    assert words in str(refused.value)


def test_everything_that_is_wrong_is_named_at_once():
    env = {"TASKMILL_SMTP_SERVER": "there:25", "TASKMILL_SMTP_SECURITY": "PLAINTEXT"}
    with pytest.raises(SettingsInvalid, match=r"TASKMILL_MAIL_FROM is missing.*not allowed"):
        read(env)


@pytest.mark.parametrize("told", ["", "hunter2", "[]", '{"username": "u"}', "{hunter2"])
def test_a_secret_that_is_none_is_named_and_not_shown(told):
    with pytest.raises(SettingsInvalid, match="TASKMILL_SMTP_SECRET") as refused:
        read(BY_SMTP | {"TASKMILL_SMTP_SECRET": "login"}, told)
    assert "hunter2" not in str(refused.value)
