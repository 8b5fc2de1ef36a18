"""A task of type email ends according to the mail server's answer."""

from functools import partial

import msgspec
import pytest
from msgspec import Raw

from functions.workers.email import handler
from functions.workers.email.settings import MailSettings
from taskmill.core.counting import Count
from taskmill.core.facts import TaskDeferred, TaskDied, TaskSucceeded
from taskmill.core.task import TaskType
from taskmill.platform import process
from taskmill.worker import Retry, Succeeded
from tests.builders import an_envelope
from tests.unit.stage import Stage

PAYLOAD = {"to": ["ada@example.com"], "subject": "Your order", "text": "It is on its way."}


class Way:
    """Sends nothing: records the mails, and returns a test's outcome."""

    def __init__(self, answer):
        self.answer = answer
        self.mails = []

    def send(self, mail, *, seconds):
        self.mails.append(mail)
        return self.answer


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


@pytest.fixture
def sending(monkeypatch):
    """Provide a transport and a sender; return the transport."""

    def bind(answer, sender="shop@example.com"):
        way = Way(answer)
        settings = partial(MailSettings, sender=sender, smtp=None)
        monkeypatch.setitem(process.PROVIDED, "settings", settings)
        monkeypatch.setitem(process.PROVIDED, "transport", lambda: way)
        return way

    return bind


def the_end(stage, **changes):
    payload = Raw(msgspec.json.encode(PAYLOAD | changes))
    task = an_envelope(type=TaskType("email"), payload=payload)
    answer = stage.deliver(handler.lambda_handler, task)
    assert answer == {"batchItemFailures": []}
    (end,) = stage.log.facts()
    return end


def test_a_mail_is_named_by_the_token_of_its_task(stage, sending):
    way = sending(Succeeded({"message_id": "x"}))
    end = the_end(stage)
    assert isinstance(end, TaskSucceeded)
    (mail,) = way.mails
    assert mail.message_id.startswith(f"<{end.id}-")
    assert mail.message_id.endswith("@example.com>")


def test_a_mail_in_doubt_is_tried_again_and_counted(stage, sending):
    sending(Retry("cut off", may_have_worked=True))
    assert isinstance(the_end(stage), TaskDeferred)
    assert stage.counters.total(Count.IN_DOUBT) == 1


def test_a_mail_that_cannot_be_made_is_discarded_unsent(stage, sending):
    way = sending(Succeeded())
    end = the_end(stage, **{"from": "ceo@bank.example"})
    assert isinstance(end, TaskDied)
    assert (end.reason, way.mails) == ("discarded", [])
    assert "from must be in example.com" in (end.error_message or "")


def test_a_header_that_slipped_through_the_door_ends_the_task_unsent(stage, sending):
    way = sending(Succeeded())
    end = the_end(stage, subject="a\r\nBcc: all@example.com")
    assert isinstance(end, TaskDied)
    assert (end.reason, way.mails) == ("invalid_payload", [])


def test_a_deployment_without_mail_says_so(stage, sending):
    way = sending(Succeeded(), sender="")
    end = the_end(stage)
    assert isinstance(end, TaskDied)
    assert (end.reason, way.mails) == ("discarded", [])
    assert "MailFrom" in (end.error_message or "")
