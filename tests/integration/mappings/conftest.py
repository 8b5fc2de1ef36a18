"""One broker for all mapping tests; each test uses its own topics and groups."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.java import find_java
from taskmill_local.stores.kafka import start_kafka
from taskmill_local.stores.server import Server
from tests.integration.mappings.stage import Topic

GRACE = timedelta(seconds=10)


@pytest.fixture(scope="package")
def brokers() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="taskmill-"))
    prepare_home(folder)
    server = Server("Kafka", folder)
    with asyncio.Runner() as runner:
        try:
            yield runner.run(start_kafka(server, find_java()))
        finally:
            runner.run(server.stop(GRACE))
    shutil.rmtree(folder)


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="taskmill-"))
    prepare_home(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def topic(brokers) -> Topic:
    return Topic.create(brokers)
