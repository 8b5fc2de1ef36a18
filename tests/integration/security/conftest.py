"""Real stores, a temporary certificate authority, and a local AWS account."""

import asyncio
import gc
import logging
import shutil
import ssl
import tempfile
import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import boto3
import psycopg
import pytest
import trustme
from confluent_kafka.admin import AdminClient, NewTopic
from moto.server import ThreadedMotoServer
from redis import Redis

from taskmill.core import topics
from taskmill.settings import secrets
from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.java import find_java
from taskmill_local.stores.postgres import start_postgres
from taskmill_local.stores.server import Server
from taskmill_local.stores.valkey import start_valkey
from tests.integration.security.kafka_broker import start_secured_kafka
from tests.integration.security.tls_front import tls_front
from tests.waiting import eventually

with warnings.catch_warnings():
    # kafka-python reads its own files in a way that Python 3.11 and 3.12 call deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka as _  # noqa: F401 - imported here once, so that no test meets the warning

GRACE = timedelta(seconds=3)
SHOWS = ("good", "expired", "other_name", "unknown")


@dataclass
class Authority:
    """Certificates of each kind, and the CA file."""

    file: Path

    def __post_init__(self) -> None:
        self._trusted, self._unknown = trustme.CA(), trustme.CA()
        self._trusted.cert_pem.write_to_path(self.file)

    def issue(self, show: str) -> trustme.LeafCert:
        match show:
            case "expired":
                now = datetime.now(UTC)
                before, after = now - timedelta(days=2), now - timedelta(days=1)
                return self._trusted.issue_cert("localhost", not_before=before, not_after=after)
            case "other_name":
                return self._trusted.issue_cert("elsewhere.example")
            case "unknown":
                return self._unknown.issue_cert("localhost")
            case _:
                return self._trusted.issue_cert("localhost")

    def context(self, show: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.issue(show).configure_cert(context)
        return context


@pytest.fixture(scope="package")
def secured_home():
    folder = Path(tempfile.mkdtemp(prefix="taskmill-"))  # pytest's own are closed to others
    folder.chmod(0o755)
    prepare_home(folder / "home")
    yield folder / "home"
    shutil.rmtree(folder)


@pytest.fixture(scope="package")
def authority(secured_home):
    return Authority(secured_home / "authority.pem")


@pytest.fixture(scope="package")
def runner():
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="package")
def fronts(authority):
    """Open a TLS front with a certificate of this kind for a store."""
    with ExitStack() as opened:
        yield lambda port, show="good", **ways: opened.enter_context(
            tls_front(authority.context(show), port, **ways)
        )


@pytest.fixture(scope="package")
def valkey(runner, secured_home):
    server = Server("Valkey", secured_home)
    try:
        yield urlsplit(runner.run(start_valkey(server))).port
    finally:
        runner.run(server.stop(GRACE))


@pytest.fixture(scope="package")
def postgres(runner, secured_home):
    """Start a server that requires a password from the app only."""
    server = Server("PostgreSQL", secured_home)
    try:
        dsn = runner.run(start_postgres(server, durable=False)).owner
        hba = "host all taskmill_app all scram-sha-256\nhost all all all trust\n"
        (server.folder / "data" / "pg_hba.conf").write_text(hba)
        superuser = dsn.replace("taskmill_owner@", "postgres@")
        with psycopg.connect(superuser, autocommit=True) as connection:
            connection.execute("SELECT pg_reload_conf()")
        app = dsn.replace("taskmill_owner@", "taskmill_app@")
        eventually(lambda: not lets_in(app), within=60, reason="the server has read it")
        yield superuser
    finally:
        runner.run(server.stop(GRACE))


def lets_in(dsn):
    try:
        psycopg.connect(dsn).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.fixture(scope="package")
def kafka(runner, secured_home, authority):
    server = Server("Kafka", secured_home)
    login = "name=app,password=first"
    starting = start_secured_kafka(server, find_java(), authority.issue("good"), login)
    try:
        places = runner.run(starting)
        admin = AdminClient({"bootstrap.servers": places["PLAINTEXT"], "log_level": 0})
        new = [NewTopic(name, 1) for name in (topics.PENDING, topics.EVENTS)]
        for made in admin.create_topics(new, operation_timeout=30).values():
            made.result(timeout=60)
        yield places
    finally:
        runner.run(server.stop(GRACE))


@pytest.fixture(scope="package")
def account():
    """Point boto3 to a local account; return its Secrets Manager and SSM."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        _forget_clients()
        yield Account(boto3.client("secretsmanager"), boto3.client("ssm"))
    _forget_clients()
    server.stop()


@dataclass
class Account:
    """Holds secrets and parameters; a name is used by one test only."""

    secretsmanager: object
    ssm: object

    def keep(self, name, text):
        try:
            self.secretsmanager.create_secret(Name=name, SecretString=text)
        except self.secretsmanager.exceptions.ResourceExistsException:
            self.secretsmanager.put_secret_value(SecretId=name, SecretString=text)

    def forget(self, name):
        self.secretsmanager.delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True)


def _forget_clients():
    secrets._secrets.cache_clear()  # noqa: SLF001 - they know the address of the account
    secrets._parameters.cache_clear()  # noqa: SLF001 - as above


@pytest.fixture(autouse=True)
def _without_leftovers():
    """Collect the sockets that kafka-python leaves open, while the warning is allowed.

    Its log holds its errors, and these hold the sockets.
    """
    logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)
    yield
    logging.getLogger("kafka").setLevel(logging.NOTSET)
    gc.collect()


@pytest.fixture
def valkey_admin(valkey):
    with Redis(port=valkey) as client:
        yield client
