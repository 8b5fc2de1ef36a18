"""A receiver with a certificate, and a sender whose connections are all observed."""

import json
import ssl
from base64 import b64encode
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
import trustme

from functions.workers.webhook import exchange, handler
from functions.workers.webhook.exchange import Ways
from functions.workers.webhook.handler import Surroundings
from functions.workers.webhook.keyring import Keyring
from taskmill.core.counting import Count
from taskmill.platform import process
from taskmill.stores.memory.egress import MemoryEndpoints
from taskmill.stores.memory.process import MemoryCounters
from taskmill.testing import MovableClock, perform
from tests.integration.webhook.receiver import receiver

HOST = "hooks.example.com"
URL = f"https://{HOST}/in"
PUBLIC = "93.184.215.14"
SECRET = b"0123456789abcdef0123456789abcdef"
OTHER_SECRET = b"fedcba9876543210fedcba9876543210"


def whsec(secret):
    return f"whsec_{b64encode(secret).decode()}"


@dataclass
class Certificates:
    trusted: trustme.CA = field(default_factory=trustme.CA)
    unknown: trustme.CA = field(default_factory=trustme.CA)

    def context(self, show="good"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._issued(show).configure_cert(context)
        return context

    def _issued(self, show):
        match show:
            case "expired":
                now = datetime.now(UTC)
                before, after = now - timedelta(days=2), now - timedelta(days=1)
                return self.trusted.issue_cert(HOST, not_before=before, not_after=after)
            case "other_name":
                return self.trusted.issue_cert("elsewhere.example.com")
            case "unknown":
                return self.unknown.issue_cert(HOST)
            case _:
                return self.trusted.issue_cert(HOST)


@pytest.fixture(scope="session")
def certificates():
    return Certificates()


@dataclass
class Sender:
    """Sends webhooks; every host resolves as `addresses` says."""

    surroundings: Surroundings
    clock: MovableClock
    port: int
    addresses: list
    signers: dict
    dialled: list = field(default_factory=list)
    resolved: list = field(default_factory=list)
    late: timedelta = timedelta()

    def send(self, *, attempt=1, **fields):
        payload = {"url": URL, "secret": "shop", "body": {"order": 17}} | fields
        return perform(handler.lambda_handler, payload, clock=self.clock, attempt=attempt)

    def counted(self, word):
        return self.surroundings.counters.total(Count.WEBHOOKS, answer=word)

    async def resolve(self, host):
        self.resolved.append(host)
        found = self.addresses.pop(0) if len(self.addresses) > 1 else self.addresses[0]
        if isinstance(found, Exception):
            raise found
        return found

    async def dial(self, address, port, context, name):
        self.dialled.append((address, port, name))
        return await exchange.dial("127.0.0.1", self.port, context, name)

    def now(self):
        return datetime.fromtimestamp(self.clock() / 1000, UTC) + self.late


@pytest.fixture
def sender(certificates, monkeypatch, tmp_path):
    """Return a sender that trusts the temporary authority in addition to the system's."""
    ca_file = tmp_path / "authority.pem"
    certificates.trusted.cert_pem.write_to_path(ca_file)
    signers = {"shop": {"host": HOST, "secrets": [whsec(SECRET)]}}
    sender = Sender(
        surroundings=None, clock=MovableClock(), port=0, addresses=[[PUBLIC]], signers=signers
    )
    sender.surroundings = Surroundings(
        keyring=Keyring(lambda: json.dumps(sender.signers)),
        endpoints=MemoryEndpoints(),
        counters=MemoryCounters(),
        ways=Ways(
            context=handler.context_with(str(ca_file)), resolve=sender.resolve, dial=sender.dial
        ),
        now=sender.now,
    )
    monkeypatch.setitem(process.PROVIDED, "surroundings", lambda: sender.surroundings)
    return sender


@pytest.fixture
def hook(certificates, sender):
    """Yield a receiver with a valid certificate, to which the sender connects."""
    with receiver(certificates.context()) as result:
        sender.port = result.port
        yield result
