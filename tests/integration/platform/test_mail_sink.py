"""The mail sink accepts every mail, shows the latest, and survives disconnects."""

import asyncio
import json
import smtplib
import socket
from functools import partial

from taskmill_local.mail_sink import MailSink

MAIL = b"Subject: hello\r\nMessage-ID: <%d@x>\r\n\r\n.. one dot\r\n"


async def with_mail_sink(use):
    """Use a mail sink in a thread; return what its page then shows."""
    mail_sink = MailSink()
    host, _, port = (await mail_sink.start()).partition(":")
    try:
        await asyncio.to_thread(use, host, int(port))
        status, _, body = await mail_sink.page()
    finally:
        await mail_sink.stop()
    assert status == 200
    return json.loads(body)["mails"]


def send(count, host, port):
    with smtplib.SMTP(host, port, local_hostname="here") as server:
        for number in range(count):
            server.sendmail("a@x", ["b@x", "c@x"], MAIL % number)


def test_a_mail_is_kept_as_it_was_sent():
    (mail,) = asyncio.run(with_mail_sink(partial(send, 1)))
    assert (mail["from"], mail["to"], mail["subject"]) == ("a@x", ["b@x", "c@x"], "hello")
    assert mail["message_id"] == "<0@x>"
    assert mail["content"].encode() == MAIL % 0


def test_the_last_hundred_are_kept():
    answer = asyncio.run(with_mail_sink(partial(send, 130)))
    assert [mail["message_id"] for mail in answer] == [f"<{n}@x>" for n in range(30, 130)]


def test_who_leaves_or_talks_nonsense_harms_nobody():
    def use(host, port):
        for words in (b"", b"MAIL", b"\xff\r\n", b"DATA\r\n", b"x" * 200_000, HALF):
            with socket.create_connection((host, port)) as client:
                client.sendall(words)
        send(1, host, port)

    assert len(asyncio.run(with_mail_sink(use))) == 1


HALF = b"MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\nSubject: half\r\n"
