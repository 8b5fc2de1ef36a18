"""A forbidden topic is reported as an unavailable store with the reason; no error is lost."""

from contextlib import contextmanager
from uuid import uuid4

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.settings import Settings
from taskmill.stores.kafka.bus import KafkaBus
from taskmill.stores.kafka.ends import KafkaLogEnds
from tests.builders import a_fresh_envelope
from tests.integration.security.test_secrets import login
from tests.waiting import eventually

US = "barred"


@pytest.fixture(scope="module")
def admin(kafka):
    return AdminClient({"bootstrap.servers": kafka["PLAINTEXT"], "log_level": 0})


@pytest.fixture
def access(kafka, authority, account, admin):
    """Connect as our own user, with every permission that is not denied."""
    how = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    change = UserScramCredentialUpsertion(US, how, b"secret")
    for changed in admin.alter_user_scram_credentials([change]).values():
        changed.result(timeout=30)
    name = f"taskmill/barred-{uuid4()}"
    account.keep(name, login(US, "secret"))
    env = {
        "TASKMILL_KAFKA_BROKERS": kafka["SASL_SSL"],
        "TASKMILL_KAFKA_SECURITY": "SCRAM-SHA-512",
        "TASKMILL_KAFKA_SECRET": name,
        "TASKMILL_KAFKA_CA_FILE": str(authority.file),
    }
    return Settings.from_env(env, needs=("kafka",)).kafka


@contextmanager
def barred(admin, topic, operation):
    """Deny us a permission until the end."""
    rule = (ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{US}", "*", operation)
    for made in admin.create_acls([AclBinding(*rule, AclPermissionType.DENY)]).values():
        made.result(timeout=30)
    try:
        yield
    finally:
        wanted = AclBindingFilter(*rule, AclPermissionType.DENY)
        for gone in admin.delete_acls([wanted]).values():
            gone.result(timeout=30)


def publish(bus):
    """Publish, and return the error if there is one."""
    try:
        bus.send_pending([a_fresh_envelope()])
        bus.flush()
    except StoreUnavailable as error:
        return error.why
    return ""


@pytest.mark.parametrize("operation", [AclOperation.WRITE, AclOperation.DESCRIBE])
def test_who_may_not_publish_is_told_so_and_goes_on_once_it_may(access, admin, operation):
    bus = KafkaBus(access)
    try:
        with barred(admin, topics.PENDING, operation):
            eventually(
                lambda: "access to the topic" in publish(bus),
                within=60,
                reason="the broker knows of it",
            )
        eventually(lambda: publish(bus) == "", within=60, reason="it may again")
    finally:
        bus.close()


def ask(ends):
    """Return the end offsets, or the reason for having none."""
    try:
        return ends.ends()
    except StoreUnavailable as error:
        return {error.why}


def test_who_may_not_look_at_the_log_does_not_take_it_for_empty(access, admin):
    ends = KafkaLogEnds(access)
    try:
        with barred(admin, topics.EVENTS, AclOperation.DESCRIBE):
            why = "access to the topic tasks.events is denied"
            eventually(lambda: why in ask(ends), within=60, reason="it is known and reported")
        eventually(lambda: (topics.EVENTS, 0) in ask(ends), within=60, reason="it may again")
    finally:
        ends.close()
