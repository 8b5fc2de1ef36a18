"""The documented variables are exactly those with an effect."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

from functions.workers.email.settings import MailSettings
from functions.workers.webhook.settings import WebhookSettings
from infra.reference import settings as described
from taskmill.core.errors import SettingsInvalid
from taskmill.execution.pace import Pace
from taskmill.settings import Settings
from taskmill.settings.known import PREFIX, known
from taskmill_local.settings import Settings as LocalSettings
from tests.unit.settings.vault import Cupboard

ROOT = Path(__file__).parents[3]
_TAKEN_BY_FUNCTIONS = ("STORES", "GATEWAY", "QUEUE", "PACE")
FOR_TESTS = ("CRASH_AT", "CLOCK_AHEAD_MS")
LOCAL = {
    "TASKMILL_PORT": "9999",
    "TASKMILL_HOME": "elsewhere",
    "TASKMILL_BACKOFF_SECONDS": "1",
}
"""What the docs say to those who start a system of their own."""

ADDRESSES = ("TASKMILL_KAFKA_BROKERS", "TASKMILL_REDIS_URL", "TASKMILL_POSTGRES_DSN")
HERE = dict(
    zip(
        ADDRESSES,
        ("127.0.0.1:9092", "redis://127.0.0.1:6379/0", "postgresql://app@127.0.0.1/taskmill"),
        strict=True,
    )
) | {"TASKMILL_BUCKET": "mill"}
ELSEWHERE = {
    "TASKMILL_KAFKA_BROKERS": "127.0.0.1:9093",
    "TASKMILL_REDIS_URL": "redis://127.0.0.1:6380/0",
    "TASKMILL_POSTGRES_DSN": "postgresql://app@127.0.0.1/other",
}
VALUES = {
    **ELSEWHERE,
    **{f"{name}_PARAMETER": name for name in ADDRESSES},
    "TASKMILL_KAFKA_SECRET": "login",
    "TASKMILL_REDIS_SECRET": "login",
    "TASKMILL_POSTGRES_SECRET": "login",
    "TASKMILL_KAFKA_SECURITY": "SSL",
    "TASKMILL_REDIS_CACHE": "a cache",
    "TASKMILL_KAFKA_CA_FILE": __file__,
    "TASKMILL_REDIS_CA_FILE": __file__,
    "TASKMILL_POSTGRES_CA_FILE": __file__,
    "TASKMILL_API_KEYS_SECRET": "keys",
    "TASKMILL_BUCKET": "another",
    "TASKMILL_BUCKET_ENDPOINT": "https://s3.example.com",
    "TASKMILL_SHARDS": "7",
    "TASKMILL_WAITING_PLACES": "7",
    "TASKMILL_WORKER_PARTITIONS": "7",
    "TASKMILL_OUTBOX_CAP": "7",
    "TASKMILL_RETENTION_DAYS": "7",
    "TASKMILL_LEASE_MS": "7000",
    "TASKMILL_HEARTBEAT_MS": "700",
    "TASKMILL_SETTLE_MS": "7",
    "TASKMILL_MARGIN_MS": "7",
    "TASKMILL_HOLD_MS": "7",
    "TASKMILL_TICK_MS": "7",
    "TASKMILL_NAMESPACE": "another",
    "TASKMILL_CRASH_AT": "worker after claim:1",
    "TASKMILL_CLOCK_AHEAD_MS": "-7",
    "TASKMILL_OPEN": "1",
}
MAIL = {
    "TASKMILL_MAIL_FROM": "shop@example.com",
    "TASKMILL_SMTP_SERVER": "mail.example.com:587",
}
OF_MAIL = {
    "TASKMILL_MAIL_FROM": "orders@example.com",
    "TASKMILL_SMTP_SERVER": "mail.example.com:465",
    "TASKMILL_SMTP_SECURITY": "TLS",
    "TASKMILL_SMTP_SECRET": "login",
    "TASKMILL_SMTP_CA_FILE": __file__,
    "TASKMILL_SES_IDENTITY": "example.com",
}
"""What the docs say about sending mail; the worker of the type email reads them."""

HOOKS = {
    "TASKMILL_KAFKA_BROKERS": "127.0.0.1:9092",
    "TASKMILL_REDIS_URL": "redis://127.0.0.1:6379/0",
    "TASKMILL_WEBHOOK_SECRET": "hooks",
}
OF_HOOKS = {
    "TASKMILL_WEBHOOK_SECRET": "login",
    "TASKMILL_WEBHOOK_SECRET_FILE": __file__,
    "TASKMILL_WEBHOOK_CA_FILE": __file__,
    "TASKMILL_WEBHOOK_LOOPBACK": "1",
    "TASKMILL_API_HOST": "api.example.com",
}
"""What the docs say about webhooks; the worker of the type webhook reads them."""

_OF_TYPES = {*OF_MAIL, *OF_HOOKS}
_TALK_OF_WRONG_ONES = {"unit", "architecture"}
"""Tests that give names which nobody reads."""

CUPBOARD = Cupboard(
    secrets={"login": '{"username":"me","password":"s3cret"}', "keys": "{}", "hooks": "{}"},
    parameters=ELSEWHERE | {name: ELSEWHERE[name] for name in ADDRESSES},
)


def documented():
    """Return every variable that the docs describe and functions read."""
    groups = [*(getattr(described, name) for name in _TAKEN_BY_FUNCTIONS), FOR_TESTS]
    return sorted(f"{PREFIX}{name}" for rows in groups for name in rows)


class Noting(dict):
    """An environment that records which variables are read."""

    def __init__(self, answer):
        super().__init__(answer)
        self.asked = set()

    def get(self, name, default=None):
        self.asked.add(name)
        return super().get(name, default)


def effect(env):
    """Return everything that a function derives from its environment."""
    needs = ("kafka", "redis", "postgres", "api_keys", "s3")
    try:
        settings = Settings.from_env(env, needs=needs, vault=CUPBOARD.as_vault())
    except SettingsInvalid as refused:
        return str(refused)
    stores = [getattr(settings, name).value for name in needs[:3]]
    keys = settings.read_api_keys and settings.read_api_keys()
    rest = [
        getattr(settings, one.name)
        for one in fields(Settings)
        if one.name not in {*needs, "read_api_keys"}
    ]
    return [*stores, settings.s3, keys, *rest]


@pytest.mark.parametrize("name", documented())
def test_each_documented_variable_has_an_effect(name):
    opens = {} if name in {"TASKMILL_OPEN", "TASKMILL_API_KEYS_SECRET"} else {"TASKMILL_OPEN": "1"}
    base = {one: answer for one, answer in HERE.items() if f"{one}_PARAMETER" != name} | opens
    assert effect(base | {name: VALUES[name]}) != effect(base)


@pytest.mark.parametrize("name", LOCAL)
def test_each_documented_variable_of_a_system_of_ones_own_has_an_effect(name):
    assert LocalSettings.from_environment(LOCAL, folder=ROOT) != LocalSettings.from_environment(
        {**LOCAL, name: ""}, folder=ROOT
    )


@pytest.mark.parametrize("name", OF_MAIL)
def test_each_documented_variable_of_mail_has_an_effect(name):
    assert name.removeprefix(PREFIX) in described.GROUPS["Mail"]
    assert effect_on_mail(MAIL | {name: OF_MAIL[name]}) != effect_on_mail(MAIL)


def effect_on_mail(env):
    try:
        settings = MailSettings.from_env(env, read_secret=CUPBOARD.as_vault().secret)
    except SettingsInvalid as refused:
        return str(refused)
    return settings.sender, settings.smtp and settings.smtp.value


@pytest.mark.parametrize("name", OF_HOOKS)
def test_each_documented_variable_of_webhooks_has_an_effect(name):
    assert name.removeprefix(PREFIX) in described.GROUPS["Webhooks"]
    assert effect_on_hooks(HOOKS | {name: OF_HOOKS[name]}) != effect_on_hooks(HOOKS)


def effect_on_hooks(env):
    settings = WebhookSettings.from_env(env, vault=CUPBOARD.as_vault())
    return [
        settings.read_secrets(),
        settings.ca_file,
        settings.api_host,
        settings.reaches_loopback,
    ]


def test_no_other_variable_is_taken():
    asked = set()
    for env in (HERE, {}):
        noting = Noting(env)
        effect(noting)
        asked |= {name for name in noting.asked if name.startswith("TASKMILL_")}
    assert asked >= set(documented())
    for name in asked - set(documented()) - _OF_TYPES:
        assert f"{name} is not a setting" in effect(HERE | {name: "x"})


def test_the_table_of_settings_holds_what_is_read_and_nothing_else():
    """A name that is missing there would be refused; one too many would hide what is misspelt."""
    sources = [
        path.read_text()
        for folder in ("shared", "functions", "localstack", "bench", "tests")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "known.py" and path.relative_to(ROOT).parts[1] not in _TALK_OF_WRONG_ONES
    ]
    spelt = {name for text in sources for name in re.findall(r'"([A-Z][A-Z0-9_]+)"', text)}
    here = {*documented(), *LOCAL, *_OF_TYPES}
    assert here <= known()
    read = {f"{PREFIX}{name.removeprefix(PREFIX)}" for name in spelt} | here
    paces = {f"{PREFIX}{name.upper()}_MS" for name in Pace.__struct_fields__}
    elsewhere = {f"{PREFIX}EVERY_ZONE"}  # of a test among those
    assert known() - read - paces == elsewhere
    ours = {name for name in spelt if name.startswith(PREFIX)}
    assert ours - known() <= {PREFIX}


def test_what_is_read_is_used():
    """The composition root hands on each setting, and the clockwork goes by each of its spans."""
    layer = ROOT / "shared/taskmill"
    places = [layer / "stores/stores.py", layer / "platform/process.py"]
    root = [path.relative_to(ROOT) for path in places]
    assert used_of("settings", root) | used_of("from_env()", root) == {
        one.name for one in fields(Settings)
    }
    layer = [
        path.relative_to(ROOT)
        for folder in ("shared", "functions")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "settings.py"
    ]
    assert used_of("pace", layer) >= {*Pace.__struct_fields__}


def used_of(owner, paths):
    """Return the attributes of *owner* that these files read."""
    nodes = (node for path in paths for node in ast.walk(ast.parse((ROOT / path).read_text())))
    return {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and _name(node.value) == owner
    }


def _name(node):
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=called):
            return f"{_name(called)}()"
    return None
