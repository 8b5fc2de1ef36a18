"""A rejected login is retried once with a changed secret."""

import json
import logging

import pytest

from taskmill.settings import Settings
from tests.unit.settings.vault import Cupboard


class Refused(Exception):
    """The store has another password."""


class Store:
    def __init__(self, password):
        self.password = password
        self.tried = []

    def connect(self, access):
        self.tried.append(access.credentials.password)
        if access.credentials.password != self.password:
            raise Refused
        return "connected"

    def open(self, access):
        return access.open(self.connect, lambda error: isinstance(error, Refused))


def login(password):
    return json.dumps({"username": "app", "password": password})


@pytest.fixture
def cupboard():
    return Cupboard(secrets={"login": login("old")})


@pytest.fixture
def access(cupboard):
    env = {"TASKMILL_REDIS_URL": "redis://localhost", "TASKMILL_REDIS_SECRET": "login"}
    return Settings.from_env(env, needs=("redis",), vault=cupboard.as_vault()).redis


def test_a_secret_is_read_once_while_it_fits(access, cupboard):
    store = Store("old")
    assert [store.open(access), store.open(access)] == ["connected"] * 2
    assert cupboard.asked == [("login", False)]


def test_a_rotated_secret_is_read_anew_and_kept(access, cupboard):
    store = Store("new")
    cupboard.secrets["login"] = login("new")
    assert [store.open(access), store.open(access)] == ["connected"] * 2
    assert store.tried == ["old", "new", "new"]
    assert cupboard.asked == [("login", False), ("login", True)]


def test_a_refused_secret_that_did_not_change_is_not_tried_again(access):
    store = Store("new")
    with pytest.raises(Refused):
        store.open(access)
    assert store.tried == ["old"]


def test_a_new_secret_that_is_refused_too_is_tried_once(access, cupboard):
    store = Store("newest")
    cupboard.secrets["login"] = login("new")
    with pytest.raises(Refused):
        store.open(access)
    assert store.tried == ["old", "new"]


def test_a_secret_that_cannot_be_read_anew_leaves_the_refusal_as_it_is(access, cupboard, caplog):
    cupboard.secrets.clear()
    with caplog.at_level(logging.WARNING), pytest.raises(Refused):
        Store("new").open(access)
    assert "rejected secret could not be reloaded" in caplog.text


def test_an_error_that_is_no_refusal_reads_no_secret(access, cupboard):
    def unreachable(_access):
        raise ConnectionRefusedError

    with pytest.raises(ConnectionRefusedError):
        access.open(unreachable, lambda error: isinstance(error, Refused))
    assert cupboard.asked == [("login", False)]
