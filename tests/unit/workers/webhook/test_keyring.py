"""Signing secrets are read strictly, rotated without a restart, and never shown."""

import json
from base64 import b64encode

import pytest

from functions.workers.webhook.keyring import SECONDS_TO_NOTICE, Keyring, Unsigned
from taskmill.core.errors import SettingsInvalid

FIRST, SECOND = b"1" * 32, b"2" * 64


def entry(*secrets, host="shop.example"):
    return {"host": host, "secrets": [f"whsec_{b64encode(one).decode()}" for one in secrets]}


class Shelf:
    """A secret that changes as the clock moves."""

    def __init__(self, **entries):
        self.text = json.dumps(entries)
        self.now = 0.0
        self.asked = 0
        self.keyring = Keyring(self.read, now=lambda: self.now)

    def read(self):
        self.asked += 1
        if self.text is None:
            raise SettingsInvalid("it cannot be read")
        return self.text

    def write(self, **entries):
        self.text = json.dumps(entries)

    def secrets(self, name="shop", host="shop.example"):
        return self.keyring.secrets_for(name, host)


def test_both_secrets_of_a_rotation_sign_in_their_order():
    assert Shelf(shop=entry(SECOND, FIRST)).secrets() == (SECOND, FIRST)


def test_a_secret_is_for_its_host_alone():
    shelf = Shelf(shop=entry(FIRST, host="Shop.Example"))
    assert shelf.secrets() == (FIRST,)
    assert isinstance(shelf.secrets(host="other.example"), Unsigned)


def test_a_changed_secret_counts_within_a_minute():
    shelf = Shelf(shop=entry(FIRST))
    shelf.write(shop=entry(SECOND))
    shelf.now = SECONDS_TO_NOTICE - 1
    assert shelf.secrets() == (FIRST,)
    shelf.now = SECONDS_TO_NOTICE
    assert shelf.secrets() == (SECOND,)
    assert shelf.asked == 2


def test_a_new_name_counts_at_once_and_a_wrong_one_asks_once_a_second():
    shelf = Shelf()
    shelf.write(shop=entry(FIRST))
    assert shelf.secrets() == (FIRST,)
    assert shelf.asked == 2
    for _ in range(5):
        shelf.now += 0.3
        assert isinstance(shelf.secrets("nobody"), Unsigned)
    assert shelf.asked == 3


@pytest.mark.parametrize("broken", [None, "{", '{"shop": 1}'])
def test_what_cannot_be_read_anew_leaves_what_was_known(broken):
    shelf = Shelf(shop=entry(FIRST))
    shelf.text, shelf.now = broken, SECONDS_TO_NOTICE
    assert shelf.secrets() == (FIRST,)


def test_no_secrets_at_all_are_fine():
    assert isinstance(Keyring(str).secrets_for("shop", "shop.example"), Unsigned)


@pytest.mark.parametrize(
    "text",
    [
        "whsec_PLANTED",
        '["whsec_PLANTED"]',
        '{"shop": "whsec_PLANTED"}',
        '{"shop": {"secrets": ["whsec_PLANTED"]}}',
        '{"shop": {"host": "a.b", "secrets": ["whsec_PLANTED"]}}',
        '{"shop": {"host": "a.b", "secrets": ["whsec_PLANTED!"]}}',
        '{"shop": {"host": "a.b", "secrets": ["PLANTED\\ud800"]}}',
        '{"shop": {"host": "a.b", "secrets": ["PLANTED\\u00fc"]}}',
        '{"shop": {"host": "a.b", "secrets": []}}',
        '{"shop": {"host": "a.b", "secrets": ["a", "b", "PLANTED"]}}',
        json.dumps({"shop": entry(b"short")}),
        json.dumps({"shop": entry(b"l" * 65)}),
    ],
)
def test_a_worker_with_wrong_secrets_does_not_start_and_tells_none(text):
    with pytest.raises(SettingsInvalid) as refused:
        Keyring(lambda: text)
    assert "TASKMILL_WEBHOOK_SECRET" in str(refused.value)
    assert "PLANTED" not in str(refused.value)
    assert refused.value.__cause__ is None
